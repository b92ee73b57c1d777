//! D4: who may send what.

use std::{collections::HashSet, time::Duration};

use domain::{
    DeliveryId, WebhookId,
    delivery::{DeliveryFilter, DeliveryStatus, EventType, PAYLOAD_INLINE_MAX, Verdict, public_id},
    ingest::IncomingEntry,
};

use super::{
    Harness,
    given::{HOUR, LEASE, entry},
    given_outbox::{RETRY, SECOND, finished, ids, lease_of, limits, row, rows},
};

contract! {
    d4_a_claim_has_all_that_is_needed_to_send,
    d4_a_claimed_row_is_nobody_elses,
    d4_two_workers_never_hold_the_same_row,
    d4_only_what_is_due_is_claimed_the_longest_due_first,
    d4_a_webhook_comes_with_its_claims_once,
    d4_a_large_payload_does_not_come_with_its_claim,
    d4_the_next_is_known,
    d4_what_nobody_can_read_is_set_aside,
    d4_events_of_a_later_version_are_left_to_it,
    d4_a_lease_counts_no_further_than_its_own_length,
}

async fn d4_a_claim_has_all_that_is_needed_to_send(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 1).await.remove(0);
    let happened_at = harness.now();
    harness.advance(HOUR).await;
    let claimed = harness.claim_with("worker", &limits(10)).await;
    assert_eq!(claimed.webhooks, [harness.the_webhook(id).await]);
    let [job] = claimed.jobs.as_slice() else { panic!("{:?}", claimed.jobs) };
    assert_eq!((job.id, job.webhook_id, &job.event_id), (row(&queued), id, &queued.event_id));
    assert_eq!((job.lease.owner.as_str(), job.lease.fence), ("worker", 1));
    assert_eq!((job.kind, job.happened_at), (EventType::WebhookTest, happened_at));
    assert_eq!((job.attempts, job.is_probe), (0, false));
    let (key, nonce) = (harness.store.installation(), harness.number("SELECT nonce FROM events").await);
    assert_eq!(job.event_id, public_id("evt", key, job.event.0, nonce));
    assert_eq!(queued.id, public_id("dlv", key, job.id.0, nonce));
    assert_eq!(job.data, harness.store.event_data(job.event).await.unwrap());
    assert_eq!(job.data.as_ref().map(String::len), Some(job.size));
    let shown = harness.shown(&queued.id).await;
    assert_eq!(shown.delivery_status, DeliveryStatus::Pending);
    assert_eq!(shown.lease_owner.as_deref(), Some("worker"));
    assert_eq!(shown.lease_until, Some(harness.now() + LEASE));
}

async fn d4_a_claimed_row_is_nobody_elses(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = rows(&harness.queue(id, 2).await);
    assert_eq!(ids(&harness.take("one", 1).await), queued[..1]);
    assert_eq!(ids(&harness.take("two", 10).await), queued[1..]);
    assert_eq!(harness.take("one", 10).await.len(), 0, "not even its own");
}

async fn d4_two_workers_never_hold_the_same_row(harness: &Harness) {
    let webhooks = [harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await];
    for webhook in webhooks {
        harness.queue(webhook, 30).await;
    }
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let store = harness.store.clone();
            tokio::spawn(async move {
                let (owner, mut claimed) = (format!("worker {worker}"), Vec::new());
                for _ in 0..5 {
                    claimed.extend(ids(&store.claim_deliveries(&owner, LEASE, &limits(3)).await.unwrap().jobs));
                }
                claimed
            })
        })
        .collect();
    let mut claimed: Vec<DeliveryId> = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    claimed.extend(ids(&harness.take("last", 100).await));
    assert_eq!(claimed.len(), 60);
    assert_eq!(claimed.into_iter().collect::<HashSet<_>>().len(), 60);
}

async fn d4_only_what_is_due_is_claimed_the_longest_due_first(harness: &Harness) {
    let (one, two) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    let first = harness.queue(one, 1).await;
    harness.advance(SECOND).await;
    let second = harness.queue(two, 2).await;
    harness.advance(SECOND).await;
    let third = harness.queue(two, 1).await;
    // The first is deferred until after the others.
    let job = harness.take_one("worker").await;
    assert_eq!(job.id, row(&first[0]));
    let again_at = harness.now() + HOUR;
    harness.end(&job, Verdict::Retry(HOUR)).await;
    let due: Vec<DeliveryId> = second.iter().chain(&third).map(row).collect();
    assert_eq!(ids(&harness.take("worker", 2).await), due[..2]);
    assert_eq!(ids(&harness.take("worker", 9).await), due[2..]);
    harness.set(again_at - Duration::from_millis(1)).await;
    assert!(!ids(&harness.take("worker", 9).await).contains(&row(&first[0])));
    harness.set(again_at).await;
    assert_eq!(ids(&harness.take("worker", 9).await), [row(&first[0])]);
}

async fn d4_a_webhook_comes_with_its_claims_once(harness: &Harness) {
    let (one, two) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    harness.webhook("https://r.org/3").await;
    harness.queue(one, 3).await;
    harness.queue(two, 2).await;
    let claimed = harness.claim_with("worker", &limits(10)).await;
    assert_eq!(claimed.jobs.len(), 5);
    let mut webhooks: Vec<WebhookId> = claimed.webhooks.iter().map(|webhook| webhook.id).collect();
    webhooks.sort();
    assert_eq!(webhooks, [one, two], "and none that is not needed");
    let nothing = harness.claim_with("worker", &limits(10)).await;
    assert_eq!((nothing.jobs.len(), nothing.webhooks.len()), (0, 0));
}

async fn d4_a_large_payload_does_not_come_with_its_claim(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    let content = |bytes: usize| Some("x".repeat(bytes));
    harness.poll(feed, vec![IncomingEntry { content: content(PAYLOAD_INLINE_MAX), ..entry("large") }]).await;
    harness.poll(feed, vec![IncomingEntry { content: content(PAYLOAD_INLINE_MAX - 1000), ..entry("small") }]).await;
    let jobs = harness.take("worker", 2).await;
    assert_eq!(jobs.iter().map(|job| job.webhook_id).collect::<Vec<_>>(), [id, id]);
    assert!(jobs[0].size > PAYLOAD_INLINE_MAX && jobs[1].size <= PAYLOAD_INLINE_MAX);
    assert_eq!((&jobs[0].data, jobs[1].data.as_ref().map(String::len)), (&None, Some(jobs[1].size)));
    let data = harness.store.event_data(jobs[0].event).await.unwrap().unwrap();
    assert_eq!(data.len(), jobs[0].size);
    assert_eq!(harness.store.event_data(domain::EventId(999)).await.unwrap(), None);
}

async fn d4_the_next_is_known(harness: &Harness) {
    let next = |but_not_to: Vec<WebhookId>| async move { harness.store.next_delivery_in(&but_not_to).await.unwrap() };
    assert_eq!(next(vec![]).await, None);
    let (one, two) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    assert_eq!(next(vec![]).await, None);
    harness.queue(one, 2).await;
    assert_eq!(next(vec![]).await, Some(Duration::ZERO));
    assert_eq!(next(vec![two]).await, Some(Duration::ZERO));
    assert_eq!(next(vec![one]).await, None, "but for these");
    let jobs = harness.take("worker", 2).await;
    harness.advance(SECOND).await;
    let rest = LEASE.checked_sub(SECOND).unwrap();
    assert_eq!(next(vec![]).await, Some(rest), "what is claimed is due again when its lease runs out");
    harness.end(&jobs[0], RETRY).await;
    assert_eq!(next(vec![]).await, Some(Duration::from_secs(5)));
    harness.end(&jobs[1], Verdict::Delivered).await;
    harness.queue(two, 1).await;
    assert_eq!(next(vec![two]).await, Some(Duration::from_secs(5)));
    assert_eq!(next(vec![]).await, Some(Duration::ZERO));
    harness.advance(SECOND * 5).await;
    assert_eq!(next(vec![two]).await, Some(Duration::ZERO));
    let all: Vec<_> = harness.outbox(DeliveryFilter::default()).await;
    for delivery in all.iter().filter(|delivery| delivery.delivery_status == DeliveryStatus::Pending) {
        harness.store.cancel_delivery(&delivery.id, "no").await.unwrap();
    }
    assert_eq!(next(vec![]).await, None);
}

async fn d4_what_nobody_can_read_is_set_aside(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    harness.queue(id, 3).await;
    harness.tamper("DELETE FROM events WHERE id IN (1, 2)").await;
    let claimed = harness.claim_with("worker", &limits(9)).await;
    assert_eq!(claimed.jobs.iter().map(|job| job.event.0).collect::<Vec<_>>(), [3]);
    assert_eq!(claimed.webhooks.len(), 1);
    let overview = harness.store.outbox_overview().await.unwrap();
    assert_eq!((overview.pending, overview.in_flight, overview.failed), (1, 1, 2));
    harness.end(&claimed.jobs[0], Verdict::Delivered).await;
    // Nobody is woken for them.
    assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), None);
    harness.advance(LEASE).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
}

async fn d4_events_of_a_later_version_are_left_to_it(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 3).await;
    harness.tamper("UPDATE events SET type = 'of.later' WHERE id IN (1, 2)").await;
    let jobs = harness.take("worker", 9).await;
    assert_eq!(jobs.iter().map(|job| job.event.0).collect::<Vec<_>>(), [3]);
    harness.end(&jobs[0], Verdict::Delivered).await;
    assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), None, "nobody is woken for them");
    harness.advance(HOUR).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
    let left = harness.shown(&queued[0].id).await;
    assert_eq!((left.delivery_status, left.event_type.as_str()), (DeliveryStatus::Pending, "of.later"));
    assert_eq!(harness.attempts(&left.id).await.len(), 0);
    // A node of that version has them.
    harness.tamper("UPDATE events SET type = 'entry.created' WHERE id IN (1, 2)").await;
    assert_eq!(harness.take("worker", 9).await.len(), 2);
}

async fn d4_a_lease_counts_no_further_than_its_own_length(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    harness.queue(id, 2).await;
    harness.advance(HOUR * 2).await;
    let before = harness.take("one", 9).await;
    assert_eq!(before.len(), 2);
    // The database's clock goes back: nobody waits until it has caught up.
    harness.set(harness.after(-3600)).await;
    let after = harness.take("two", 9).await;
    assert_eq!(ids(&after), ids(&before));
    harness.end(&after[0], Verdict::Delivered).await;
    assert_eq!(harness.mark(vec![finished(&before[1], Verdict::Delivered)]).await.skipped, [before[1].id]);
    assert_eq!(harness.take("three", 9).await.len(), 0, "a lease of now counts");
    // A renewal under the new clock counts too.
    assert_eq!(harness.store.renew_deliveries(&[lease_of(&after[1])], LEASE).await.unwrap(), []);
    assert_eq!(harness.take("three", 9).await.len(), 0);
    assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), Some(LEASE));
}
