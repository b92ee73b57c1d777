//! A worker wakes when there is something to send.

use std::{sync::Arc, time::Duration};

use domain::delivery::{Verdict, WebhookPatch};
use jiff::Timestamp;
use tokio::time::timeout;

use super::{
    Harness,
    given::entry,
    given_outbox::{RETRY, SECOND, lease_of},
};

contract! {
    d4_queued_deliveries_wake_waiters,
    d4_whatever_can_be_claimed_wakes,
}

/// Longer than any machine stands still.
const SOON: Duration = Duration::from_mins(3);
/// A hint that is still on its way is here by then; if not, a test may pass that should not, and none fails.
const QUIET: Duration = Duration::from_millis(150);

/// Waits until no more hints come of what was done so far.
async fn settle(harness: &Harness, mut seen: u64) -> u64 {
    while let Ok(next) = timeout(QUIET, harness.store.deliveries_queued(seen)).await {
        seen = next;
    }
    seen
}

async fn d4_queued_deliveries_wake_waiters(harness: &Harness) {
    harness.webhook("https://r.org/1").await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    let seen = settle(harness, 0).await;
    let store = Arc::clone(&harness.store);
    let waiting = tokio::spawn(async move { store.deliveries_queued(seen).await });
    harness.poll(feed, vec![entry("1")]).await;
    let next = timeout(SOON, waiting).await.expect("it is woken").unwrap();
    assert!(next > seen);
    assert_eq!(harness.take("worker", 9).await.len(), 1, "what woke it is there");
    // Whoever asks late knows at once.
    assert!(timeout(SOON, harness.store.deliveries_queued(seen)).await.expect("at once") > seen);
}

async fn d4_whatever_can_be_claimed_wakes(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    let mut seen = 0;
    let mut woken = async |by: &str| {
        seen = timeout(SOON, harness.store.deliveries_queued(seen)).await.unwrap_or_else(|_| panic!("not by {by}"));
        seen = settle(harness, seen).await;
    };
    let queued = harness.queue(webhook, 1).await.remove(0);
    woken("a test").await;
    let job = harness.take_one("worker").await;
    harness.store.release_deliveries(&[lease_of(&job)]).await.unwrap();
    woken("a release").await;
    let job = harness.take_one("worker").await;
    harness.end(&job, Verdict::Failed).await;
    harness.store.requeue_delivery(&queued.id).await.unwrap();
    woken("what was queued again").await;
    let job = harness.take_one("worker").await;
    harness.end(&job, Verdict::Failed).await;
    harness.store.requeue_failed(webhook).await.unwrap();
    woken("all that failed, queued again").await;
    harness.drain().await;
    woken("a webhook that is well again").await;
    harness.poll(feed, vec![entry("1")]).await;
    woken("news").await;
    harness.drain().await;
    harness.store.replay(webhook, Timestamp::UNIX_EPOCH, None).await.unwrap();
    woken("a replay").await;
    for enabled in [false, true] {
        let patch = WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
        harness.store.update_webhook(webhook, patch).await.unwrap();
    }
    woken("a webhook that is enabled").await;
    let job = harness.take_one("worker").await;
    harness.end(&job, RETRY).await;
    harness.advance(SECOND * 5).await;
    assert_eq!(harness.take("worker", 1).await.len(), 1, "time alone wakes nobody, but it is due");
}
