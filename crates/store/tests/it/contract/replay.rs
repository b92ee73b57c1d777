//! D1: what happened since a time, queued once more for one webhook.

use std::time::Duration;

use domain::{
    WebhookId,
    delivery::{DeliveryStatus, EventType, NewWebhook, Verdict, WebhookPatch},
};
use jiff::Timestamp;

use super::{
    Harness,
    given::{HOUR, entry},
    given_outbox::new_webhook,
    given_push::DAY,
};

contract! {
    d1_replay_queues_delivered_and_missed,
    d1_a_replay_begins_at_its_time,
    d1_a_replay_ends_at_its_time,
    d1_only_what_is_wanted_is_repeated,
    d1_tests_are_not_repeated,
    d1_nothing_is_repeated_for_a_disabled_webhook,
    d1_many_are_repeated,
}

const CREATED: EventType = EventType::EntryCreated;

async fn d1_replay_queues_delivered_and_missed(harness: &Harness) {
    let (one, other) = (harness.quiet_webhook("https://r.org/1").await, harness.quiet_webhook("https://r.org/2").await);
    let feed = harness.add("http://e.org/1", vec![]).await;
    for guid in ["delivered", "failed", "cancelled", "pending"] {
        harness.poll(feed, vec![entry(guid)]).await;
        harness.advance(HOUR).await;
    }
    let sent = harness.deliveries_to(one).await;
    for job in harness.take("worker", 99).await.iter().filter(|job| job.webhook_id == one) {
        if job.event_id == sent[0].event_id {
            harness.end(job, Verdict::Delivered).await;
        } else if job.event_id == sent[1].event_id {
            harness.end(job, Verdict::Failed).await;
        }
    }
    harness.store.cancel_delivery(&sent[2].id, "no").await.unwrap();
    let of_other = harness.deliveries_to(other).await;
    let pending = harness.shown(&sent[3].id).await;
    let late = harness.quiet_webhook("https://r.org/3").await;
    assert_eq!(harness.store.replay(one, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(3));
    assert_eq!(harness.store.replay(one, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(0), "all are pending");
    let again = harness.deliveries_to(one).await;
    assert_eq!(again.len(), 4, "the same rows");
    for (again, sent) in again.iter().zip(&sent).take(3) {
        assert_eq!((&again.id, &again.event_id), (&sent.id, &sent.event_id));
        assert_eq!((again.delivery_status, again.attempts), (DeliveryStatus::Pending, 0));
        assert_eq!((&again.reason, &again.last_error), (&None, &None));
        assert_eq!(again.next_attempt_at, Some(harness.now()));
    }
    assert_eq!(again[3], pending, "what is pending stays");
    assert_eq!(
        harness.store.replay(late, Timestamp::UNIX_EPOCH, None).await.unwrap(),
        Some(4),
        "what it was not sent of"
    );
    let events = |sent: &[domain::delivery::Delivery]| -> Vec<String> {
        sent.iter().map(|delivery| delivery.event_id.clone()).collect()
    };
    assert_eq!(events(&harness.deliveries_to(late).await), events(&sent));
    assert_eq!(harness.deliveries_to(other).await, of_other, "the others are left alone");
    assert_eq!(harness.store.replay(WebhookId(999), Timestamp::UNIX_EPOCH, None).await.unwrap(), None);
}

async fn d1_a_replay_begins_at_its_time(harness: &Harness) {
    harness.webhook("https://r.org/1").await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    for guid in ["1", "2", "3"] {
        harness.poll(feed, vec![entry(guid)]).await;
        harness.advance(DAY).await;
    }
    let late = harness.webhook("https://r.org/2").await;
    let (last, first) = (harness.now() - DAY, harness.now() - DAY * 3);
    let after_the_last = last + Duration::from_nanos(1);
    for (since, count) in [(harness.now(), 0), (after_the_last, 0), (last, 1), (first, 2)] {
        assert_eq!(harness.store.replay(late, since, None).await.unwrap(), Some(count), "at this time or later");
    }
    assert_eq!(harness.deliveries_to(late).await.len(), 3);
}

async fn d1_only_what_is_wanted_is_repeated(harness: &Harness) {
    let backlog = harness.webhook_like(NewWebhook { backlog: true, ..new_webhook("https://r.org/1") }).await.id;
    let one = harness.add("http://e.org/1", vec![entry("1")]).await;
    let two = harness.add("http://e.org/2", vec![entry("1")]).await;
    for feed in [one, two] {
        harness.poll(feed, vec![entry("2")]).await;
        harness.poll(feed, vec![super::given::version("2", "changed")]).await;
    }
    assert_eq!(harness.deliveries_to(backlog).await.len(), 6);
    let wanting = |new: NewWebhook| async move {
        let webhook = harness.webhook_like(new).await.id;
        harness.store.replay(webhook, Timestamp::UNIX_EPOCH, None).await.unwrap()
    };
    let new = || new_webhook("https://r.org/2");
    assert_eq!(wanting(new()).await, Some(4), "what a feed first held is backlog");
    assert_eq!(wanting(NewWebhook { backlog: true, ..new() }).await, Some(6));
    assert_eq!(wanting(NewWebhook { event_types: Some(vec![CREATED]), ..new() }).await, Some(2));
    assert_eq!(wanting(NewWebhook { feed_ids: Some(vec![one]), ..new() }).await, Some(2));
    assert_eq!(wanting(NewWebhook { folder_ids: Some(vec![]), ..new() }).await, Some(0));
    harness.store.delete_feed(one).await.unwrap();
    assert_eq!(wanting(NewWebhook { feed_ids: Some(vec![one]), ..new() }).await, Some(0), "a2: no longer followed");
}

async fn d1_tests_are_not_repeated(harness: &Harness) {
    let (one, two) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    harness.queue(one, 2).await;
    harness.drain().await;
    for webhook in [one, two] {
        assert_eq!(harness.store.replay(webhook, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(0));
    }
    assert!(
        harness.deliveries_to(one).await.iter().all(|delivery| delivery.delivery_status == DeliveryStatus::Delivered)
    );
}

async fn d1_nothing_is_repeated_for_a_disabled_webhook(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.poll(feed, vec![entry("1")]).await;
    harness.drain().await;
    let before = harness.deliveries_to(webhook).await;
    let patch = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    harness.store.update_webhook(webhook, patch).await.unwrap();
    assert_eq!(harness.store.replay(webhook, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(0));
    assert_eq!(harness.deliveries_to(webhook).await, before);
}

async fn d1_many_are_repeated(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    // More than two chunks, of which those that happened at the same time are no end.
    harness.poll(feed, (0..1201).map(|number| entry(&number.to_string())).collect()).await;
    assert_eq!(harness.drain().await.len(), 1201);
    harness.advance(HOUR).await;
    assert_eq!(harness.store.replay(webhook, harness.now() - HOUR, None).await.unwrap(), Some(1201));
    assert_eq!(harness.store.outbox_overview().await.unwrap().pending, 1201);
}

async fn d1_a_replay_ends_at_its_time(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let first = harness.webhook("https://r.org/1").await;
    for guid in ["1", "2", "3", "4"] {
        harness.poll(feed, vec![entry(guid)]).await;
        harness.advance(HOUR).await;
    }
    let sent = harness.deliveries_to(first).await;
    let late = harness.webhook("https://r.org/2").await;
    let (since, until) = (sent[1].created_at, sent[2].created_at);
    let before = until - Duration::from_millis(1);
    assert_eq!(harness.store.replay(late, since, Some(before)).await.unwrap(), Some(1));
    assert_eq!(harness.store.replay(late, since, Some(until)).await.unwrap(), Some(1), "both ends are included");
    assert_eq!(
        harness.deliveries_to(late).await.iter().map(|one| &one.event_id).collect::<Vec<_>>(),
        [&sent[1].event_id, &sent[2].event_id]
    );
    assert_eq!(
        harness.store.replay(late, since, Some(harness.after(9999))).await.unwrap(),
        Some(1),
        "no further than now"
    );
}
