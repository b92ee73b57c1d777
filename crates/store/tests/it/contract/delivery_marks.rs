//! D6 and D8: what the end of an attempt changes, and what one that comes too late does not.

use std::time::Duration;

use domain::{
    DeliveryId,
    delivery::{AttemptOutcome, Delivery, DeliveryJob, DeliveryStatus, FinishReport, Verdict},
};

use super::{
    Harness,
    given::{HOUR, LEASE},
    given_outbox::{RETRY, SECOND, finished, lease_of, limits, row},
};

contract! {
    d8_what_has_arrived_is_delivered,
    d8_what_failed_is_tried_again_later,
    fr_004_ac3_attempts_are_counted_until_it_has_failed_d8,
    fr_002_ac3_a_mark_is_guarded_by_owner_fence_and_state_d6,
    d6_next_fence_distinguishes_ended_claims_from_expired,
    d6_a_late_mark_changes_nothing,
    d10_what_is_cancelled_while_it_is_sent_stays_cancelled,
    d6_of_one_delivery_the_first_mark_counts,
    fr_001_ac3_marks_of_one_batch_stand_by_themselves,
    d8_410_fails_the_delivery_and_disables_the_webhook,
    d4_a_batch_of_many_is_marked,
}

async fn d8_what_has_arrived_is_delivered(harness: &Harness) {
    let (webhook, queued, job) = harness.one_claimed().await;
    let before = harness.the_webhook(webhook).await;
    assert_eq!(queued.next_attempt_at, Some(harness.now()));
    harness.advance(SECOND).await;
    harness.end(&job, Verdict::Delivered).await;
    let expected = Delivery {
        delivery_status: DeliveryStatus::Delivered,
        attempts: 1,
        next_attempt_at: None,
        last_status_code: Some(200),
        delivered_at: Some(harness.now()),
        ..queued
    };
    assert_eq!(harness.shown(&expected.id).await, expected);
    assert_eq!(harness.the_webhook(webhook).await, before);
    harness.advance(HOUR).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
    assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), None);
}

async fn d8_what_failed_is_tried_again_later(harness: &Harness) {
    let (webhook, queued, job) = harness.one_claimed().await;
    harness.advance(SECOND).await;
    harness.end(&job, Verdict::Retry(Duration::from_millis(7001))).await;
    let at = harness.now() + Duration::from_millis(7001);
    let expected = Delivery {
        attempts: 1,
        next_attempt_at: Some(at),
        last_status_code: Some(500),
        last_error: Some("500 Internal Server Error".to_owned()),
        ..queued
    };
    assert_eq!(harness.shown(&expected.id).await, expected, "and nobody holds it");
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 1);
    harness.set(at - Duration::from_millis(1)).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
    harness.set(at).await;
    let again = harness.take_one("other").await;
    assert_eq!((again.id, again.attempts, again.event_id == job.event_id), (job.id, 1, true));
    harness.end(&again, Verdict::Delivered).await;
    let shown = harness.shown(&expected.id).await;
    assert_eq!((shown.attempts, shown.last_status_code, shown.last_error), (2, Some(200), None));
}

async fn fr_004_ac3_attempts_are_counted_until_it_has_failed_d8(harness: &Harness) {
    let (_, queued, mut job) = harness.one_claimed().await;
    for attempt in 1..5 {
        harness.end(&job, Verdict::Retry(Duration::ZERO)).await;
        // A claim that was never sent is no attempt, nor is one whose worker died.
        let lost = harness.take_one("lost").await;
        harness.store.release_deliveries(&[lease_of(&lost)]).await.unwrap();
        harness.take_one("dead").await;
        harness.advance(LEASE).await;
        job = harness.take_one("worker").await;
        assert_eq!(job.attempts, attempt);
    }
    harness.end(&job, Verdict::Failed).await;
    let shown = harness.shown(&queued.id).await;
    assert_eq!((shown.delivery_status, shown.attempts), (DeliveryStatus::Failed, 5));
    assert_eq!((shown.next_attempt_at, shown.delivered_at), (None, None));
    harness.advance(HOUR * 1000).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
}

async fn fr_002_ac3_a_mark_is_guarded_by_owner_fence_and_state_d6(harness: &Harness) {
    let (webhook, queued, job) = harness.one_claimed().await;
    let before = harness.shown(&queued.id).await;
    let mut wrong_owner = finished(&job, RETRY);
    "other".clone_into(&mut wrong_owner.lease.owner);
    let mut wrong_fence = finished(&job, RETRY);
    wrong_fence.lease.fence += 1;
    let mut older = finished(&job, RETRY);
    older.lease.fence -= 1;
    let nobody = AttemptOutcome { id: DeliveryId(999), ..finished(&job, RETRY) };
    for wrong in [wrong_owner, wrong_fence, older, nobody] {
        assert_eq!(harness.mark(vec![wrong.clone()]).await.skipped, [wrong.id], "{wrong:?}");
    }
    assert_eq!(harness.shown(&queued.id).await, before);
    harness.end(&job, Verdict::Delivered).await;
    // Delivered is not pending.
    let after = harness.shown(&queued.id).await;
    assert_eq!(
        harness.mark(vec![finished(&job, Verdict::Gone)]).await,
        FinishReport { skipped: vec![job.id], ..FinishReport::default() }
    );
    assert_eq!(harness.shown(&queued.id).await, after);
    assert_eq!(harness.attempts(&queued.id).await.len(), 1);
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 0, "no failure is counted");
    assert_eq!(harness.mark(vec![]).await, FinishReport::default());
}

/// Whoever is still at it when it claims a row once more may go on, unless something has happened to the row in between.
async fn d6_next_fence_distinguishes_ended_claims_from_expired(harness: &Harness) {
    let (_, queued, first) = harness.one_claimed().await;
    harness.advance(LEASE).await;
    let second = harness.take_one("worker").await;
    assert_eq!(second.lease.fence, first.lease.fence + 1, "it ran out");
    harness.end(&second, Verdict::Retry(Duration::ZERO)).await;
    let third = harness.take_one("worker").await;
    assert!(third.lease.fence > second.lease.fence + 1, "it was marked");
    harness.end(&third, Verdict::Failed).await;
    harness.store.requeue_delivery(&queued.id).await.unwrap();
    let fourth = harness.take_one("worker").await;
    assert!(fourth.lease.fence > third.lease.fence + 1, "it was marked, and queued again");
    harness.store.cancel_delivery(&queued.id, "enough").await.unwrap();
    assert_eq!(harness.mark(vec![finished(&fourth, Verdict::Delivered)]).await.skipped, [fourth.id]);
}

async fn d6_a_late_mark_changes_nothing(harness: &Harness) {
    let (webhook, queued, frozen) = harness.one_claimed().await;
    harness.advance(LEASE).await;
    let second = harness.take_one("second").await;
    let before = harness.shown(&queued.id).await;
    for verdict in [Verdict::Delivered, RETRY, Verdict::Failed, Verdict::Gone] {
        assert_eq!(
            harness.mark(vec![finished(&frozen, verdict)]).await,
            FinishReport { skipped: vec![frozen.id], ..FinishReport::default() }
        );
        assert_eq!(harness.shown(&queued.id).await, before);
    }
    assert_eq!(harness.attempts(&queued.id).await, []);
    let after = harness.the_webhook(webhook).await;
    assert_eq!((after.enabled, after.consecutive_failures), (true, 0));
    harness.end(&second, Verdict::Delivered).await;
}

async fn d10_what_is_cancelled_while_it_is_sent_stays_cancelled(harness: &Harness) {
    let (_, queued, job) = harness.one_claimed().await;
    harness.store.cancel_delivery(&queued.id, "not needed").await.unwrap();
    let cancelled = harness.shown(&queued.id).await;
    assert_eq!((cancelled.lease_owner.clone(), cancelled.delivery_status), (None, DeliveryStatus::Cancelled));
    assert_eq!(harness.store.renew_deliveries(&[lease_of(&job)], LEASE).await.unwrap(), [job.id]);
    assert_eq!(harness.mark(vec![finished(&job, Verdict::Delivered)]).await.skipped, [job.id]);
    assert_eq!(harness.shown(&queued.id).await, cancelled);
    assert_eq!(harness.attempts(&queued.id).await, []);
}

async fn d6_of_one_delivery_the_first_mark_counts(harness: &Harness) {
    let (webhook, queued, job) = harness.one_claimed().await;
    let marks = harness.mark(vec![finished(&job, Verdict::Delivered), finished(&job, RETRY)]).await;
    assert_eq!(marks.skipped, [job.id]);
    assert_eq!(harness.status(&queued.id).await, DeliveryStatus::Delivered);
    assert_eq!(harness.attempts(&queued.id).await.len(), 1);
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 0);
}

async fn fr_001_ac3_marks_of_one_batch_stand_by_themselves(harness: &Harness) {
    let (good, bad) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    let to_good = harness.queue(good, 3).await;
    let to_bad = harness.queue(bad, 2).await;
    let jobs = harness.take("worker", 5).await;
    harness.store.cancel_delivery(&to_good[1].id, "no").await.unwrap();
    let verdict = |job: &DeliveryJob| if job.webhook_id == good { Verdict::Delivered } else { RETRY };
    // In whatever order.
    let marks = harness.mark(jobs.iter().rev().map(|job| finished(job, verdict(job))).collect()).await;
    assert_eq!(marks, FinishReport { skipped: vec![row(&to_good[1])], ..FinishReport::default() });
    let status = |id: String| async move { harness.status(&id).await };
    assert_eq!(status(to_good[0].id.clone()).await, DeliveryStatus::Delivered);
    assert_eq!(status(to_good[1].id.clone()).await, DeliveryStatus::Cancelled);
    assert_eq!(status(to_good[2].id.clone()).await, DeliveryStatus::Delivered);
    assert_eq!(status(to_bad[0].id.clone()).await, DeliveryStatus::Pending);
    assert_eq!(harness.the_webhook(good).await.consecutive_failures, 0);
    assert_eq!(harness.the_webhook(bad).await.consecutive_failures, 2);
    // Marked is released: no beat finds it any more.
    let lost = harness.store.renew_deliveries(&jobs.iter().map(lease_of).collect::<Vec<_>>(), LEASE).await.unwrap();
    assert_eq!(lost.len(), 5);
}

async fn d8_410_fails_the_delivery_and_disables_the_webhook(harness: &Harness) {
    let (webhook, queued, job) = harness.one_claimed().await;
    let marks = harness.mark(vec![finished(&job, Verdict::Gone)]).await;
    assert_eq!(marks.disabled.len(), 1);
    let shown = harness.shown(&queued.id).await;
    assert_eq!((shown.delivery_status, shown.attempts), (DeliveryStatus::Failed, 1));
    assert_eq!(shown.last_status_code, Some(410));
    let disabled = harness.the_webhook(webhook).await;
    assert_eq!((disabled.enabled, disabled.disabled_reason), (false, Some(marks.disabled[0].1.clone())));
}

async fn d4_a_batch_of_many_is_marked(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    harness.queue(webhook, 60).await;
    let jobs = harness.claim_with("worker", &limits(60)).await.jobs;
    assert_eq!(jobs.len(), 60);
    let marks = harness.mark(jobs.iter().map(|job| finished(job, Verdict::Delivered)).collect()).await;
    assert_eq!(marks, FinishReport::default());
    let overview = harness.store.outbox_overview().await.unwrap();
    assert_eq!((overview.pending, overview.in_flight), (0, 0));
}
