//! D9: how much a webhook is sent at once, and that none takes the place of another.

use std::time::Duration;

use domain::{
    WebhookId,
    delivery::{ClaimLimits, DeliveryJob, NewWebhook, Rate, WebhookPatch},
};

use super::{
    Harness,
    given::{HOUR, LEASE, entry},
    given_outbox::{RETRY, SECOND, finished, ids, lease_of, limits, new_webhook, row, rows},
};

contract! {
    d9_each_webhook_has_its_own_limit,
    d9_no_backlog_keeps_others_waiting,
    d9_each_has_its_first_before_any_has_its_second,
    d9_a_probe_has_its_turn_among_the_first,
    d9_new_rows_and_tried_ones_take_turns,
    d9_a_rate_is_kept_by_all_workers_together,
    d9_no_probe_goes_out_while_anything_is_under_way,
    d9_a_disabled_webhook_keeps_its_rows_until_it_is_enabled,
    d9_the_next_probe_is_known,
}

async fn d9_each_webhook_has_its_own_limit(harness: &Harness) {
    let webhooks = [
        harness.webhook("https://r.org/1").await,
        harness.webhook("https://r.org/2").await,
        harness.webhook("https://r.org/3").await,
    ];
    for webhook in webhooks {
        harness.queue(webhook, 5).await;
    }
    let claim = |limits: ClaimLimits| async move {
        let jobs = harness.claim_with("worker", &limits).await.jobs;
        let count = webhooks.map(|webhook| jobs.iter().filter(|job| job.webhook_id == webhook).count());
        harness.store.release_deliveries(&jobs.iter().map(lease_of).collect::<Vec<_>>()).await.unwrap();
        count
    };
    let limits = ClaimLimits {
        limit: 100,
        of: vec![(webhooks[0], 1), (webhooks[1], 0)],
        of_others: 3,
        ..ClaimLimits::default()
    };
    assert_eq!(claim(limits.clone()).await, [1, 0, 3]);
    assert_eq!(claim(ClaimLimits { limit: 3, ..limits.clone() }).await.iter().sum::<usize>(), 3);
    assert_eq!(claim(ClaimLimits { of_others: 0, ..limits.clone() }).await, [1, 0, 0]);
    assert_eq!(claim(ClaimLimits { limit: 0, ..limits.clone() }).await, [0, 0, 0]);
    assert_eq!(claim(ClaimLimits { of: vec![], of_others: 5, ..limits }).await, [5, 5, 5]);
}

async fn d9_no_backlog_keeps_others_waiting(harness: &Harness) {
    let busy = harness.webhook("https://r.org/busy").await;
    let old = harness.queue(busy, 1).await.remove(0);
    // A thousand of them, without the way through the store.
    let backlog = "
INSERT INTO events (id, type, created_at, is_backlog, size, data)
WITH RECURSIVE numbers (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1998)
SELECT n, type, created_at, is_backlog, size, data FROM numbers CROSS JOIN events;
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
SELECT events.id, deliveries.webhook_id, next_attempt_at, deliveries.created_at
FROM deliveries CROSS JOIN events WHERE events.id >= 1000 ORDER BY events.id";
    harness.tamper(backlog).await;
    harness.advance(HOUR).await;
    let mut fresh = Vec::new();
    for number in 0..50 {
        let webhook = harness.webhook(&format!("https://r.org/{number}")).await;
        fresh.push(row(&harness.queue(webhook, 1).await[0]));
    }
    let jobs = harness.take("worker", 60).await;
    assert_eq!(jobs.len(), 60);
    assert_eq!(jobs[0].id, row(&old), "the first of each, the longest due first");
    assert_eq!(ids(&jobs[1..51]), fresh);
    assert!(jobs[51..].iter().all(|job| job.webhook_id == busy), "what is left is the backlog's");
    assert!(jobs[51..].is_sorted_by_key(|job| job.id));
    assert_eq!(harness.take("worker", 1000).await.len(), 990, "nobody waits for it once the others have had theirs");
}

async fn d9_each_has_its_first_before_any_has_its_second(harness: &Harness) {
    let mut webhooks = Vec::new();
    for (number, count) in [5, 1, 3, 2].into_iter().enumerate() {
        let webhook = harness.webhook(&format!("https://r.org/{number}")).await;
        harness.queue(webhook, count).await;
        harness.advance(SECOND).await;
        webhooks.push(webhook);
    }
    let in_turn = [0, 1, 2, 3, 0, 2, 3, 0, 2, 0, 0].map(|webhook| webhooks[webhook]);
    for limit in 1..=12 {
        let jobs = harness.take("worker", limit).await;
        let given: Vec<WebhookId> = jobs.iter().map(|job| job.webhook_id).collect();
        assert_eq!(given, in_turn[..in_turn.len().min(limit.try_into().unwrap())], "{limit}");
        for webhook in &webhooks {
            let of_one: Vec<_> = jobs.iter().filter(|job| job.webhook_id == *webhook).map(|job| job.id).collect();
            assert!(of_one.is_sorted(), "of one the longest due first");
        }
        harness.store.release_deliveries(&jobs.iter().map(lease_of).collect::<Vec<_>>()).await.unwrap();
    }
}

async fn d9_a_probe_has_its_turn_among_the_first(harness: &Harness) {
    let (good, broken) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    harness.queue(broken, 5).await;
    harness.fail_times(broken, 10).await;
    harness.queue(good, 5).await;
    harness.advance(HOUR).await;
    let probe_at = |jobs: &[DeliveryJob]| jobs.iter().position(|job| job.is_probe);
    let jobs = harness.take("worker", 3).await;
    assert_eq!((jobs.len(), probe_at(&jobs).is_some_and(|place| place < 2)), (3, true), "{jobs:?}");
    assert_eq!(jobs.iter().filter(|job| job.webhook_id == good).count(), 2);
}

async fn d9_new_rows_and_tried_ones_take_turns(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let old = rows(&harness.queue(id, 4).await);
    let jobs = harness.take("worker", 4).await;
    // Now and then something succeeds, so that the breaker stays closed.
    let marks = jobs.iter().map(|job| finished(job, RETRY)).collect();
    harness.mark(marks).await;
    harness.advance(SECOND * 9).await;
    let new = rows(&harness.queue(id, 3).await);
    let take = |limit: u32, retries_first: bool| async move {
        let retries_first = if retries_first { vec![id] } else { vec![] };
        let jobs = harness.claim_with("worker", &ClaimLimits { retries_first, ..limits(limit) }).await.jobs;
        harness.store.release_deliveries(&jobs.iter().map(lease_of).collect::<Vec<_>>()).await.unwrap();
        ids(&jobs)
    };
    assert_eq!(take(1, false).await, [new[0]]);
    assert_eq!(take(1, true).await, [old[0]]);
    assert_eq!(take(5, false).await, [new[0], old[0], new[1], old[1], new[2]]);
    assert_eq!(take(9, true).await, [old[0], new[0], old[1], new[1], old[2], new[2], old[3]]);
}

async fn d9_a_rate_is_kept_by_all_workers_together(harness: &Harness) {
    let slow = NewWebhook { rate_per_second: Rate::per_second(5.0), ..new_webhook("https://r.org/slow") };
    let slow = harness.webhook_like(slow).await.id;
    harness.queue(slow, 12).await;
    assert_eq!(harness.take("one", 9).await.len(), 1);
    assert_eq!(harness.take("two", 9).await.len(), 0);
    assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), Some(Duration::from_millis(200)));
    let mut taken = 1;
    for worker in ["one", "two"].into_iter().cycle().take(20) {
        harness.advance(Duration::from_millis(100)).await;
        taken += harness.take(worker, 9).await.len();
    }
    assert_eq!(taken, 11, "ten more in two seconds");
    // A clock that goes back does not lock it.
    harness.set(harness.after(-3600)).await;
    harness.queue(slow, 1).await;
    assert_eq!(harness.take("one", 9).await.len(), 1);
    assert!(harness.store.delete_webhook(slow).await.unwrap());
    let quick = NewWebhook { rate_per_second: Rate::per_second(100.0), ..new_webhook("https://r.org/quick") };
    let quick = harness.webhook_like(quick).await.id;
    harness.queue(quick, 30).await;
    assert_eq!(harness.take("one", 20).await.len(), 10, "a tenth of a second's worth at once");
    harness.advance(Duration::from_millis(20)).await;
    assert_eq!(harness.take("one", 20).await.len(), 2);
}

async fn d9_no_probe_goes_out_while_anything_is_under_way(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    harness.queue(id, 5).await;
    // Claimed while it was well, and still being sent when it is broken.
    let slow = harness.claim_with("slow", &limits(1)).await.jobs.remove(0);
    harness.fail_times(id, 10).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0, "somebody is still sending to it");
    // That it fails as well defers no further probe.
    harness.end(&slow, RETRY).await;
    let probe = harness.take("worker", 9).await;
    assert_eq!(probe.iter().map(|job| job.is_probe).collect::<Vec<_>>(), [true]);
    harness.advance(LEASE).await;
    let again = harness.take("other", 9).await;
    assert_eq!(again.iter().map(|job| job.is_probe).collect::<Vec<_>>(), [true], "whoever sent it is dead");
}

async fn d9_a_disabled_webhook_keeps_its_rows_until_it_is_enabled(harness: &Harness) {
    let (id, other) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    let queued = rows(&harness.queue(id, 2).await);
    let enable = |enabled| WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
    harness.store.update_webhook(id, enable(false)).await.unwrap();
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.poll(feed, vec![entry("1")]).await;
    assert_eq!(harness.deliveries_to(other).await.len(), 1);
    assert_eq!(rows(&harness.deliveries_to(id).await), queued, "nothing new, and nothing lost");
    assert!(harness.take("worker", 9).await.iter().all(|job| job.webhook_id == other));
    harness.advance(HOUR * 1000).await;
    assert_eq!(harness.store.next_delivery_in(&[other]).await.unwrap(), None);
    harness.store.update_webhook(id, enable(true)).await.unwrap();
    assert_eq!(harness.store.next_delivery_in(&[other]).await.unwrap(), Some(Duration::ZERO));
    let only = ClaimLimits { of: vec![(id, 9)], of_others: 0, ..limits(9) };
    assert_eq!(ids(&harness.claim_with("worker", &only).await.jobs), queued);
}

async fn d9_the_next_probe_is_known(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let next = || async { harness.store.next_delivery_in(&[]).await.unwrap() };
    harness.queue(id, 5).await;
    harness.fail_times(id, 10).await;
    assert_eq!(next().await, Some(Duration::ZERO), "one that was tried, at once");
    let probe = harness.take_one("worker").await;
    assert_eq!(next().await, Some(LEASE), "nor while a probe is under way: nobody asks for nothing");
    harness.end(&probe, RETRY).await;
    assert_eq!(next().await, Some(SECOND * 5), "all are due, but none can be claimed");
    let disabled = NewWebhook { enabled: false, ..new_webhook("https://r.org/2") };
    harness.webhook_like(disabled).await;
    assert_eq!(next().await, Some(SECOND * 5));
}
