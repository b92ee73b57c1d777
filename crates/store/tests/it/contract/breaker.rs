//! D9: how failures add up, what is probed while the breaker is open, and how one success closes it.

use std::time::Duration;

use domain::{
    FeedId, WebhookId,
    delivery::{
        AttemptEnd, AttemptLog, AttemptOutcome, BreakerRules, DeliveryFilter, DeliveryJob, DeliveryStatus,
        FinishReport, Verdict, WebhookPatch,
    },
};

use super::{
    Harness,
    given::{HOUR, LEASE, entry},
    given_outbox::{RETRY, SECOND, finished},
};

const HALF_A_SECOND: Duration = Duration::from_millis(500);

contract! {
    d9_ten_failures_open_the_breaker_and_a_success_closes_it,
    d9_a_failed_probe_costs_no_attempt,
    d9_a_new_row_is_probed_within_a_second,
    d9_after_a_probe_that_hung_a_new_row_goes_next,
    d9_frequent_probes_of_tried_rows_do_not_starve_new_ones,
    d9_probes_of_tried_rows_wait_longer_each_time,
    d9_probes_most_tried_twice_then_least_tried,
    d9_failures_of_one_batch_are_counted_in_order,
    d9_answers_of_4xx_open_no_breaker,
    d9_429_and_503_with_retry_after_hold_back_the_webhook,
    d9_a_webhook_that_was_idle_is_not_failing,
    d1_a_test_is_sent_at_once_though_the_breaker_is_open,
    d1_test_waits_while_receiver_is_held,
    d9_old_receiver_says_nothing_about_new_one,
    d9_old_receivers_success_closes_no_breaker,
}

/// How an attempt ended that was answered so.
fn answered(job: &DeliveryJob, status: u16, retry_after: Option<u64>) -> AttemptOutcome {
    let retry_after = retry_after.map(Duration::from_secs);
    AttemptOutcome { ended: AttemptEnd::Answered { status, retry_after }, ..finished(job, RETRY) }
}

/// How an attempt ended that was given up after 15 s.
fn hung(job: &DeliveryJob) -> AttemptOutcome {
    let end = finished(job, RETRY);
    let attempt = AttemptLog { duration: SECOND * 15, status_code: None, ..end.attempt };
    AttemptOutcome { ended: AttemptEnd::Unanswered, attempt, ..end }
}

impl Harness {
    /// Something new happens, of which every webhook is told.
    async fn publish(&self, feed: FeedId, guid: &str) {
        self.advance(Duration::from_millis(1)).await;
        self.poll(feed, vec![entry(guid)]).await;
    }

    /// Fails the probe that can be claimed now; its row.
    async fn fail_probe(&self) -> DeliveryJob {
        let mut probes = self.take("worker", 9).await;
        assert_eq!(probes.iter().map(|job| job.is_probe).collect::<Vec<_>>(), [true], "one at a time");
        assert_eq!(self.take("other", 9).await.len(), 0);
        self.end(&probes[0], RETRY).await;
        probes.remove(0)
    }

    /// A webhook whose breaker has just opened, with so many rows that were tried and are due again in five seconds.
    async fn opened(&self, rows: usize) -> WebhookId {
        let webhook = self.webhook("https://r.org/1").await;
        self.queue(webhook, rows).await;
        for _ in 0..10usize.div_ceil(rows) {
            let jobs = self.take("worker", 99).await;
            self.mark(jobs.iter().map(|job| finished(job, RETRY)).collect()).await;
            self.advance(SECOND * 5).await;
        }
        assert!(self.the_webhook(webhook).await.is_breaker_open);
        webhook
    }
}

async fn d9_ten_failures_open_the_breaker_and_a_success_closes_it(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    harness.queue(webhook, 12).await;
    harness.fail_times(webhook, 9).await;
    assert!(!harness.the_webhook(webhook).await.is_breaker_open);
    assert_eq!(harness.take("worker", 2).await.len(), 2, "not yet");
    harness.advance(LEASE).await;
    let job = harness.take_one("worker").await;
    harness.end(&job, RETRY).await;
    let open = harness.the_webhook(webhook).await;
    assert_eq!((open.consecutive_failures, open.is_breaker_open), (10, true));
    // One that was never tried is probed at once, and then one that was.
    let first = harness.fail_probe().await;
    let probe = harness.take("worker", 9).await;
    assert_eq!(probe.iter().map(|job| (job.is_probe, job.tries > 0)).collect::<Vec<_>>(), [(true, true)]);
    assert_eq!(first.tries, 0);
    assert_eq!(harness.take("other", 9).await.len(), 0, "one at a time");
    harness.end(&probe[0], Verdict::Delivered).await;
    let closed = harness.the_webhook(webhook).await;
    assert_eq!((closed.consecutive_failures, closed.is_breaker_open), (0, false));
    assert!(harness.take("worker", 99).await.len() >= 8, "at once");
}

async fn d9_a_failed_probe_costs_no_attempt(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 1).await.remove(0);
    harness.fail_times(webhook, 10).await;
    let attempts_before = harness.shown(&queued.id).await.attempts;
    for (failures, verdict) in [(11, RETRY), (12, Verdict::Failed), (13, RETRY)] {
        harness.advance(HOUR).await;
        let probe = harness.take_one("worker").await;
        assert!(probe.is_probe);
        harness.end(&probe, verdict).await;
        let shown = harness.shown(&queued.id).await;
        assert_eq!((shown.attempts, shown.delivery_status), (attempts_before, DeliveryStatus::Pending));
        assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, failures);
    }
    // They are in the log all the same.
    assert_eq!(harness.attempts(&queued.id).await.len(), 13);
}

async fn d9_a_new_row_is_probed_within_a_second(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let webhook = harness.opened(10).await;
    harness.fail_probe().await;
    harness.publish(feed, "0").await;
    assert_eq!(harness.fail_probe().await.tries, 0, "at once: no new row was probed before");
    harness.publish(feed, "1").await;
    harness.publish(feed, "2").await;
    assert_eq!(harness.take("worker", 9).await.len(), 0, "the last new row was probed just now");
    harness.advance(HALF_A_SECOND).await;
    // The newest first: what is older may be just what the receiver refuses.
    let first = harness.fail_probe().await;
    harness.advance(HALF_A_SECOND).await;
    let second = harness.fail_probe().await;
    assert_eq!((first.tries, second.tries), (0, 0));
    assert!(first.id > second.id);
    harness.advance(HALF_A_SECOND).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0, "those that were tried wait for their own time");
    harness.publish(feed, "3").await;
    let third = harness.take_one("worker").await;
    assert_eq!((third.tries, third.is_probe), (0, true));
    harness.end(&third, Verdict::Delivered).await;
    assert!(!harness.the_webhook(webhook).await.is_breaker_open);
}

async fn d9_after_a_probe_that_hung_a_new_row_goes_next(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.opened(10).await;
    for guid in ["1", "2"] {
        harness.publish(feed, guid).await;
    }
    let tries_of_next = || async {
        let probe = harness.take_one("worker").await;
        harness.advance(SECOND * 15).await;
        harness.mark(vec![hung(&probe)]).await;
        assert_eq!(harness.take("worker", 9).await.len(), 0, "the next would hang as well");
        harness.advance(HALF_A_SECOND).await;
        probe.tries
    };
    assert_eq!(tries_of_next().await, 0);
    assert_eq!(tries_of_next().await, 0, "the other new one did not wait for one that was tried");
    let until_then = harness.store.next_delivery_in(&[]).await.unwrap();
    assert_eq!(until_then, Some(Duration::from_millis(100)), "nothing new waits");
    harness.advance(Duration::from_millis(100)).await;
    assert!(tries_of_next().await > 0);
}

async fn d9_frequent_probes_of_tried_rows_do_not_starve_new_ones(harness: &Harness) {
    let often = BreakerRules {
        probe_first: Duration::from_millis(100),
        probe_max: Duration::from_millis(400),
        ..BreakerRules::default()
    };
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.opened(10).await;
    harness.publish(feed, "1").await;
    let mut tries = Vec::new();
    // All that is sent is answered 500 at once, for longer than a second.
    for _ in 0..24 {
        if let Some(probe) = harness.take("worker", 9).await.pop() {
            tries.push(probe.tries);
            harness.mark_within(vec![finished(&probe, RETRY)], &often).await;
        }
        if tries == [0] {
            harness.publish(feed, "2").await;
        }
        harness.advance(Duration::from_millis(50)).await;
    }
    assert_eq!(tries.iter().filter(|tries| **tries == 0).count(), 2, "{tries:?}");
    assert!(tries.len() > 4, "others are probed meanwhile: {tries:?}");
}

async fn d9_probes_of_tried_rows_wait_longer_each_time(harness: &Harness) {
    harness.opened(10).await;
    harness.fail_probe().await;
    for wait in [5, 10, 20, 40, 60, 60] {
        let until_then = harness.store.next_delivery_in(&[]).await.unwrap();
        assert_eq!(until_then, Some(SECOND * wait));
        harness.advance((SECOND * wait).checked_sub(Duration::from_millis(1)).unwrap()).await;
        assert_eq!(harness.take("worker", 9).await.len(), 0);
        harness.advance(Duration::from_millis(1)).await;
        harness.fail_probe().await;
    }
}

async fn d9_probes_most_tried_twice_then_least_tried(harness: &Harness) {
    harness.opened(10).await;
    let mut probed = Vec::new();
    for _ in 0..6 {
        probed.push(harness.fail_probe().await);
        harness.advance(SECOND * 60).await;
    }
    let tries: Vec<u32> = probed.iter().map(|job| job.tries).collect();
    assert_eq!(tries, [1, 2, 1, 3, 4, 1]);
    assert_eq!(probed[0].id, probed[1].id);
    assert_ne!(probed[2].id, probed[0].id, "not always the same row");
    assert_ne!(probed[5].id, probed[2].id);
}

async fn d9_failures_of_one_batch_are_counted_in_order(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    harness.queue(webhook, 30).await;
    let mut jobs = harness.take("worker", 30).await;
    let rest = jobs.split_off(15);
    let fail = |jobs: &[DeliveryJob]| jobs.iter().map(|job| finished(job, RETRY)).collect::<Vec<_>>();
    harness.mark(fail(&jobs)).await;
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 10, "what was under way counts no further");
    let mut marks = fail(&rest);
    marks[3] = finished(&rest[3], Verdict::Delivered);
    harness.mark(marks).await;
    // Closed by the fourth, and open again by ten of the eleven after it.
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 10);
    let retried = harness.outbox(DeliveryFilter { status: Some(DeliveryStatus::Pending), ..Default::default() }).await;
    assert!(retried.iter().all(|delivery| delivery.attempts == 1), "none was a probe");
}

async fn d9_answers_of_4xx_open_no_breaker(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 30).await;
    for _ in 0..2 {
        let jobs = harness.take("worker", 30).await;
        assert_eq!((jobs.len(), jobs[0].is_probe), (30, false));
        harness.mark(jobs.iter().map(|job| answered(job, 422, None)).collect()).await;
        harness.advance(SECOND * 5).await;
    }
    let well = harness.the_webhook(webhook).await;
    assert_eq!((well.consecutive_failures, well.is_breaker_open), (0, false));
    assert_eq!(harness.shown(&queued[0].id).await.attempts, 2, "they speak of the event, and cost it an attempt");
    for (status, failures) in [(408, 1), (404, 1), (429, 2), (425, 3)] {
        harness.advance(SECOND * 5).await;
        harness.mark(vec![answered(&harness.take_one("worker").await, status, None)]).await;
        assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, failures, "{status}");
    }
}

async fn d9_429_and_503_with_retry_after_hold_back_the_webhook(harness: &Harness) {
    for (path, status, asked, held) in [
        ("1", 429, Some(60), 60),
        ("2", 503, Some(7), 7),
        ("3", 429, None, 1),
        ("4", 503, None, 0),
        ("5", 500, Some(60), 0),
    ] {
        let webhook = harness.webhook(&format!("https://r.org/{path}")).await;
        harness.queue(webhook, 3).await;
        let job = harness.take_one("worker").await;
        harness.mark(vec![answered(&job, status, asked)]).await;
        let until = (held > 0).then(|| harness.now() + SECOND * held);
        assert_eq!(harness.the_webhook(webhook).await.held_until, until, "{status} {asked:?}");
        if held > 0 {
            assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), Some(SECOND * held));
            harness.advance((SECOND * held).checked_sub(Duration::from_millis(1)).unwrap()).await;
            assert_eq!(harness.take("worker", 9).await.len(), 0, "all of it waits: {status} {asked:?}");
            harness.advance(Duration::from_millis(1)).await;
        }
        assert!(harness.take("worker", 9).await.len() >= 2, "{status} {asked:?}");
        assert!(harness.store.delete_webhook(webhook).await.unwrap());
    }
}

async fn d9_a_webhook_that_was_idle_is_not_failing(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    for _ in 0..3 {
        harness.queue(webhook, 1).await;
        let job = harness.take_one("worker").await;
        // Given up at once, as by a small retry budget.
        assert_eq!(harness.mark(vec![finished(&job, Verdict::Failed)]).await.disabled, []);
        harness.advance(HOUR * 24 * 6).await;
    }
    assert!(harness.the_webhook(webhook).await.enabled);
}

async fn d1_a_test_is_sent_at_once_though_the_breaker_is_open(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let webhook = harness.opened(10).await;
    harness.fail_probe().await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
    let tests = harness.queue_tests(webhook, 2).await;
    harness.publish(feed, "1").await;
    for test in &tests {
        let sent = harness.fail_probe().await;
        assert_eq!(sent.event_id, test.event_id, "before what is newer");
        harness.advance(HALF_A_SECOND).await;
    }
    assert_eq!(harness.fail_probe().await.tries, 0);
}

async fn d1_test_waits_while_receiver_is_held(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    for (path, failures) in [("1", 0), ("2", 9)] {
        let webhook = harness.webhook(&format!("https://r.org/{path}")).await;
        harness.queue(webhook, 1).await;
        harness.fail_times(webhook, failures).await;
        harness.publish(feed, path).await;
        let job = harness.take_one("worker").await;
        harness.mark(vec![answered(&job, 503, Some(60))]).await;
        let held = harness.the_webhook(webhook).await;
        assert_eq!((held.held_until, held.is_breaker_open), (Some(harness.now() + SECOND * 60), failures == 9));
        let test = harness.queue_tests(webhook, 1).await.remove(0);
        assert_eq!(harness.take("worker", 9).await.len(), 0, "as the receiver asked");
        assert_eq!(harness.the_webhook(webhook).await.held_until, held.held_until);
        assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), Some(SECOND * 60));
        harness.advance(SECOND * 60).await;
        assert_eq!(harness.the_webhook(webhook).await.held_until, None, "that is over");
        assert_eq!(harness.take_one("worker").await.event_id, test.event_id);
        assert!(harness.store.delete_webhook(webhook).await.unwrap());
    }
}

async fn d9_old_receiver_says_nothing_about_new_one(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/old").await;
    let queued = harness.queue(webhook, 4).await;
    let jobs = harness.take("worker", 4).await;
    let url = Some("https://r.org/new".to_owned());
    harness.store.update_webhook(webhook, WebhookPatch { url, ..WebhookPatch::default() }).await.unwrap();
    harness.advance(SECOND).await;
    let verdicts = [Verdict::Gone, RETRY, Verdict::Failed, Verdict::Delivered];
    let of_old = |(job, verdict)| AttemptOutcome { url: "https://r.org/old".to_owned(), ..finished(job, verdict) };
    let marks = harness.mark(jobs.iter().zip(verdicts).map(of_old).collect()).await;
    assert_eq!(marks, FinishReport::default());
    let after = harness.the_webhook(webhook).await;
    assert_eq!((after.enabled, after.disabled_reason, after.consecutive_failures), (true, None, 0));
    for delivery in &queued[..3] {
        let shown = harness.shown(&delivery.id).await;
        assert_eq!((shown.delivery_status, shown.attempts), (DeliveryStatus::Pending, 0));
        assert_eq!(harness.attempts(&delivery.id).await.len(), 1, "it is in the log all the same");
    }
    assert_eq!(harness.status(&queued[3].id).await, DeliveryStatus::Delivered);
    assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), Some(Duration::ZERO));
    assert_eq!(harness.take("worker", 9).await.len(), 3, "at once");
}

async fn d9_old_receivers_success_closes_no_breaker(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/old").await;
    harness.queue(webhook, 12).await;
    let slow = harness.take("slow", 2).await;
    let url = Some("https://r.org/new".to_owned());
    harness.store.update_webhook(webhook, WebhookPatch { url, ..WebhookPatch::default() }).await.unwrap();
    harness.fail_times(webhook, 3).await;
    let of_old = AttemptOutcome { url: "https://r.org/old".to_owned(), ..finished(&slow[0], Verdict::Delivered) };
    assert_eq!(harness.mark(vec![of_old]).await, FinishReport::default());
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 3);
    // Nor does it hide what the new one took.
    let of_old = AttemptOutcome { url: "https://r.org/old".to_owned(), ..finished(&slow[1], Verdict::Delivered) };
    let of_new = finished(&harness.take_one("worker").await, Verdict::Delivered);
    assert_eq!(harness.mark(vec![of_old, of_new]).await, FinishReport::default());
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 0);
}
