//! D1 and D2: who is told of what. An event is stored once for all who want it, and not at all where nobody does.

use domain::{
    FeedPatch, NewFeed, WebhookId,
    delivery::{DeliveryFilter, EventType, NewWebhook, WebhookPatch},
};
use jiff::Timestamp;
use serde_json::json;

use super::{
    Harness,
    given::{entry, new_feed, version},
    given_outbox::new_webhook,
};

contract! {
    d2_event_is_stored_once_for_all,
    d2_without_a_webhook_nothing_is_stored,
    d1_only_wanted_events_are_sent,
    d1_entry_of_either_feed_or_folder_is_sent,
    d1_removing_a_feed_never_widens,
}

const CREATED: EventType = EventType::EntryCreated;
const UPDATED: EventType = EventType::EntryUpdated;

async fn d2_event_is_stored_once_for_all(harness: &Harness) {
    let webhooks = [harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await];
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.poll(feed, vec![entry("1")]).await;
    let jobs = harness.take("worker", 9).await;
    let mut to: Vec<WebhookId> = jobs.iter().map(|job| job.webhook_id).collect();
    to.sort();
    assert_eq!(to, webhooks);
    assert_eq!((jobs[0].event, &jobs[0].event_id), (jobs[1].event, &jobs[1].event_id));
    assert_eq!(jobs[0].data, jobs[1].data);
    let page = harness.outbox(DeliveryFilter::default()).await;
    assert_eq!((page[0].event_id == page[1].event_id, page[0].id == page[1].id), (true, false));
}

async fn d2_without_a_webhook_nothing_is_stored(harness: &Harness) {
    let disabled = harness.webhook_like(NewWebhook { enabled: false, ..new_webhook("https://r.org/1") }).await.id;
    let removed = harness.webhook("https://r.org/2").await;
    harness.store.delete_webhook(removed).await.unwrap();
    let feed = harness.add("http://e.org/1", vec![entry("1")]).await;
    harness.poll(feed, vec![entry("2")]).await;
    harness.poll(feed, vec![version("2", "changed")]).await;
    for _ in 0..3 {
        harness.fail_poll(feed).await;
    }
    harness.poll_unchanged(feed).await;
    assert_eq!(harness.outbox(DeliveryFilter::default()).await, []);
    let enable = WebhookPatch { enabled: Some(true), ..Default::default() };
    harness.store.update_webhook(disabled, enable).await.unwrap();
    let everything = harness.webhook_like(NewWebhook { backlog: true, ..new_webhook("https://r.org/3") }).await.id;
    for webhook in [disabled, everything] {
        assert_eq!(harness.store.replay(webhook, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(0), "nor any event");
    }
}

async fn d1_only_wanted_events_are_sent(harness: &Harness) {
    let with = |kinds: Vec<EventType>| NewWebhook { event_types: Some(kinds), ..new_webhook("https://r.org/1") };
    let created = harness.webhook_like(with(vec![CREATED])).await.id;
    let failing = harness.webhook_like(with(vec![EventType::FeedFailing, UPDATED])).await.id;
    let nothing = harness.webhook_like(with(vec![])).await.id;
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.poll(feed, vec![entry("1")]).await;
    harness.poll(feed, vec![version("1", "changed")]).await;
    for _ in 0..3 {
        harness.fail_poll(feed).await;
    }
    harness.poll_unchanged(feed).await;
    assert_eq!(harness.kinds_to(created).await, [CREATED]);
    assert_eq!(harness.kinds_to(failing).await, [UPDATED, EventType::FeedFailing]);
    assert_eq!(harness.deliveries_to(nothing).await, []);
}

async fn d1_entry_of_either_feed_or_folder_is_sent(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let one = harness.add("http://e.org/1", vec![]).await;
    let two = harness.add_feed(NewFeed { folder_id: Some(folder), ..new_feed("http://e.org/2", vec![]) }).await.id;
    let three = harness.add("http://e.org/3", vec![]).await;
    let either =
        NewWebhook { feed_ids: Some(vec![one]), folder_ids: Some(vec![folder]), ..new_webhook("https://r.org/1") };
    let either = harness.webhook_like(either).await.id;
    let in_folder = NewWebhook { folder_ids: Some(vec![folder]), ..new_webhook("https://r.org/2") };
    let in_folder = harness.webhook_like(in_folder).await.id;
    let count_to = |webhook: WebhookId| async move { harness.deliveries_to(webhook).await.len() };
    for feed in [one, two, three] {
        harness.poll(feed, vec![entry("1")]).await;
    }
    assert_eq!((count_to(either).await, count_to(in_folder).await), (2, 1));
    // The folder that the feed is in now counts.
    for (feed, folder) in [(two, None), (three, Some(folder))] {
        let patch = FeedPatch { folder_id: Some(folder), ..FeedPatch::default() };
        harness.store.update_feed(feed, patch).await.unwrap();
    }
    for feed in [two, three] {
        harness.poll(feed, vec![entry("2")]).await;
    }
    assert_eq!((count_to(either).await, count_to(in_folder).await), (3, 2));
    assert_eq!(harness.drain().await.pop().unwrap().1["feed"]["folderId"], json!(folder));
}

async fn d1_removing_a_feed_never_widens(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let wanted = harness.add("http://e.org/1", vec![]).await;
    let other = harness.add("http://e.org/2", vec![]).await;
    let by_feed = NewWebhook { feed_ids: Some(vec![wanted]), ..new_webhook("https://r.org/1") };
    let by_feed = harness.webhook_like(by_feed).await;
    let by_folder = NewWebhook { folder_ids: Some(vec![folder]), ..new_webhook("https://r.org/2") };
    let by_folder = harness.webhook_like(by_folder).await;
    harness.store.delete_feed(wanted).await.unwrap();
    harness.store.delete_folder(folder).await.unwrap();
    harness.poll(other, vec![entry("1")]).await;
    assert_eq!(harness.outbox(DeliveryFilter::default()).await, []);
    assert_eq!(harness.the_webhook(by_feed.id).await, by_feed);
    assert_eq!(harness.the_webhook(by_folder.id).await, by_folder);
    // Nor has a new feed the id of one that was removed.
    let again = harness.add("http://e.org/1", vec![]).await;
    harness.poll(again, vec![entry("1")]).await;
    assert_eq!(harness.deliveries_to(by_feed.id).await, []);
}
