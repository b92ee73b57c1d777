//! D11: what is done with goes after its time, and nothing else does.

use std::time::Duration;

use domain::delivery::{DeliveryFilter, NewWebhook, OutboxLimits, Verdict, WebhookPatch};
use jiff::Timestamp;

use super::{
    Harness,
    given::{HOUR, entry},
    given_outbox::{finished, new_webhook},
    given_push::DAY,
};

contract! {
    d11_delivered_rows_go_sooner_than_failed_ones,
    d11_cancelled_is_pruned_as_delivered,
    d11_what_is_pending_never_goes,
    d11_requeued_is_kept_from_its_last_end,
    d11_event_goes_with_its_last_delivery,
    d11_pruning_is_done_in_chunks,
    d1_what_was_for_a_removed_webhook_goes,
}

const WEEK: Duration = Duration::from_hours(7 * 24);
const MONTH: Duration = Duration::from_hours(30 * 24);
const MILLI: Duration = Duration::from_millis(1);
const LIMITS: OutboxLimits = OutboxLimits { delivered_older_than: WEEK, failed_older_than: MONTH, chunk: 1000 };

/// All that goes in whatever many calls.
async fn prune(harness: &Harness) -> u64 {
    let mut pruned = 0;
    loop {
        match harness.store.prune_deliveries(LIMITS).await.unwrap() {
            0 => return pruned,
            some => pruned += some,
        }
    }
}

async fn d11_delivered_rows_go_sooner_than_failed_ones(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 2).await;
    let jobs = harness.take("worker", 2).await;
    harness.advance(DAY).await;
    harness.end(&jobs[0], Verdict::Delivered).await;
    harness.end(&jobs[1], Verdict::Failed).await;
    let ended = harness.now();
    harness.set(ended + WEEK).await;
    assert_eq!(prune(harness).await, 0);
    harness.set(ended + WEEK + MILLI).await;
    assert_eq!(prune(harness).await, 2, "the delivery and its event");
    assert_eq!(harness.store.delivery(&queued[0].id).await.unwrap(), None);
    assert_eq!(harness.store.event_data(jobs[0].event).await.unwrap(), None);
    harness.set(ended + MONTH).await;
    assert_eq!(prune(harness).await, 0);
    assert_eq!(harness.store.delivery(&queued[1].id).await.unwrap().unwrap().1.len(), 1, "with its log");
    assert!(harness.store.event_data(jobs[1].event).await.unwrap().is_some(), "and what it is about");
    harness.set(ended + MONTH + MILLI).await;
    assert_eq!(prune(harness).await, 2);
    assert_eq!(harness.outbox(DeliveryFilter::default()).await, []);
    // Ids are never given twice.
    let next = harness.queue(webhook, 1).await.remove(0);
    assert!(next.id > queued[1].id && next.event_id > queued[1].event_id);
}

async fn d11_cancelled_is_pruned_as_delivered(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 1).await.remove(0);
    harness.advance(MONTH).await;
    harness.store.cancel_delivery(&queued.id, "no").await.unwrap();
    harness.advance(WEEK).await;
    assert_eq!(prune(harness).await, 0);
    harness.advance(MILLI).await;
    assert_eq!(prune(harness).await, 2);
}

async fn d11_what_is_pending_never_goes(harness: &Harness) {
    let (one, disabled) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    harness.queue(one, 1).await;
    harness.queue(disabled, 1).await;
    let patch = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    harness.store.update_webhook(disabled, patch).await.unwrap();
    harness.advance(MONTH * 20).await;
    assert_eq!(prune(harness).await, 0);
    assert_eq!(harness.drain().await.len(), 1, "it can still be sent");
    assert_eq!(harness.deliveries_to(disabled).await.len(), 1);
}

async fn d11_requeued_is_kept_from_its_last_end(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 2).await;
    harness.drain().await;
    harness.advance(WEEK).await;
    harness.store.requeue_delivery(&queued[0].id).await.unwrap();
    harness.drain().await;
    harness.advance(MILLI).await;
    assert_eq!(prune(harness).await, 2, "the other, though it came later");
    assert!(harness.store.delivery(&queued[0].id).await.unwrap().is_some());
    harness.advance(WEEK).await;
    assert_eq!(prune(harness).await, 2);
}

async fn d11_event_goes_with_its_last_delivery(harness: &Harness) {
    let (one, two) = (harness.quiet_webhook("https://r.org/1").await, harness.quiet_webhook("https://r.org/2").await);
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.poll(feed, vec![entry("1")]).await;
    let jobs = harness.take("worker", 2).await;
    let event = jobs[0].event;
    for job in &jobs {
        let verdict = if job.webhook_id == one { Verdict::Delivered } else { Verdict::Failed };
        harness.end(job, verdict).await;
    }
    harness.advance(WEEK + MILLI).await;
    assert_eq!(prune(harness).await, 1, "the delivery alone");
    assert!(harness.store.event_data(event).await.unwrap().is_some());
    // What is still known can be told once more.
    assert_eq!(harness.store.replay(one, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(1));
    harness.drain().await;
    harness.advance(MONTH).await;
    assert_eq!(prune(harness).await, 3);
    assert_eq!(harness.store.event_data(event).await.unwrap(), None);
    assert_eq!(harness.store.replay(two, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(0));
}

async fn d11_pruning_is_done_in_chunks(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    for url in ["https://r.org/1", "https://r.org/2"] {
        harness.webhook(url).await;
    }
    harness.poll(feed, (0..10).map(|number| entry(&number.to_string())).collect()).await;
    assert_eq!(harness.drain().await.len(), 20);
    harness.advance(WEEK + HOUR).await;
    let limits = OutboxLimits { chunk: 6, ..LIMITS };
    let (mut pruned, mut left) = (Vec::new(), 20);
    loop {
        let gone = harness.store.prune_deliveries(limits).await.unwrap();
        let rest = harness.outbox(DeliveryFilter::default()).await.len();
        assert!(left - rest <= 6, "{} deliveries", left - rest);
        left = rest;
        if gone == 0 {
            break;
        }
        pruned.push(gone);
    }
    assert_eq!((left, pruned.iter().sum::<u64>()), (0, 30), "{pruned:?}");
    assert!(pruned.iter().all(|gone| *gone <= 12), "{pruned:?}");
}

async fn d1_what_was_for_a_removed_webhook_goes(harness: &Harness) {
    let (one, other) = (harness.quiet_webhook("https://r.org/1").await, harness.quiet_webhook("https://r.org/2").await);
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.poll(feed, (0..10).map(|number| entry(&number.to_string())).collect()).await;
    // In all states.
    let jobs = harness.take("worker", 20).await;
    let to_one: Vec<_> = jobs.iter().filter(|job| job.webhook_id == one).collect();
    harness.mark(vec![finished(to_one[0], Verdict::Delivered), finished(to_one[1], Verdict::Failed)]).await;
    harness.store.delete_webhook(one).await.unwrap();
    let limits = OutboxLimits { chunk: 6, ..LIMITS };
    assert_eq!(harness.store.prune_deliveries(limits).await.unwrap(), 6);
    assert_eq!(harness.store.prune_deliveries(limits).await.unwrap(), 4);
    assert_eq!(harness.store.prune_deliveries(limits).await.unwrap(), 0, "its row counts for nothing");
    harness.advance(HOUR).await;
    assert_eq!(harness.store.prune_deliveries(limits).await.unwrap(), 0);
    assert_eq!(harness.deliveries_to(other).await.len(), 10);
    assert_eq!(harness.mark(vec![finished(to_one[2], Verdict::Gone)]).await.skipped, [to_one[2].id]);
    // The events are kept for whoever wants them once more.
    let late = harness.webhook_like(NewWebhook { ..new_webhook("https://r.org/3") }).await.id;
    assert!(late > other, "no webhook has the id of one that was removed");
    assert_eq!(harness.store.replay(late, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(10));
}
