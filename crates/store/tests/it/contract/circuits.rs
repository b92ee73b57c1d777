//! D9: how failures add up, and how one success ends them.

use std::time::Duration;

use domain::delivery::{DeliveryFilter, DeliveryJob, DeliveryStatus, Finished, Marks, Verdict, WebhookPatch};

use super::{
    Harness,
    given::{HOUR, LEASE},
    given_outbox::{RETRY, SECOND, finished},
};

contract! {
    d9_ten_failures_break_the_circuit_and_a_success_mends_it,
    d9_a_probe_that_fails_costs_no_attempt,
    d9_the_newest_is_probed_and_after_it_another,
    d9_failures_of_one_batch_are_counted_in_order,
    d8_a_probe_is_put_off_as_its_receiver_asks,
    d9_what_an_old_receiver_says_is_nothing_to_the_new_one,
    d9_what_an_old_receiver_took_does_not_mend_the_new_one,
}

async fn d9_ten_failures_break_the_circuit_and_a_success_mends_it(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    harness.queue(webhook, 12).await;
    harness.fail_times(webhook, 9).await;
    assert_eq!(harness.take("worker", 2).await.len(), 2, "not yet");
    harness.advance(LEASE).await;
    let job = harness.take_one("worker").await;
    harness.end(&job, RETRY).await;
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 10);
    assert_eq!(harness.take("worker", 9).await.len(), 0);
    harness.advance(SECOND * 5).await;
    let probe = harness.take_one("worker").await;
    assert!(probe.is_probe);
    harness.end(&probe, Verdict::Delivered).await;
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 0);
    assert!(harness.take("worker", 99).await.len() >= 9, "at once");
}

async fn d9_a_probe_that_fails_costs_no_attempt(harness: &Harness) {
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

async fn d9_the_newest_is_probed_and_after_it_another(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    harness.queue(webhook, 15).await;
    harness.fail_times(webhook, 10).await;
    let mut probed = Vec::new();
    for failures in 10..13 {
        harness.advance(domain::delivery::probe_in(failures)).await;
        let probe = harness.take_one("worker").await;
        assert!(probe.is_probe);
        harness.end(&probe, RETRY).await;
        probed.push(probe.id);
    }
    let mut newest_first = probed.clone();
    newest_first.sort_by_key(|id| std::cmp::Reverse(id.0));
    newest_first.dedup();
    assert_eq!(probed, newest_first);
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
    // Mended by the fourth, and broken again by ten of the eleven after it.
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 10);
    let retried = harness.outbox(DeliveryFilter { status: Some(DeliveryStatus::Pending), ..Default::default() }).await;
    assert!(retried.iter().all(|delivery| delivery.attempts == 1), "none was a probe");
}

async fn d8_a_probe_is_put_off_as_its_receiver_asks(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    harness.queue(webhook, 3).await;
    harness.fail_times(webhook, 10).await;
    harness.advance(SECOND * 5).await;
    let probe = harness.take_one("worker").await;
    let asked = Finished { retry_after: Some(HOUR), ..finished(&probe, RETRY) };
    assert_eq!(harness.mark(vec![asked]).await, Marks::default());
    assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), Some(HOUR));
    harness.advance(SECOND * 3599).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
    harness.advance(SECOND).await;
    assert!(harness.take_one("worker").await.is_probe);
}

async fn d9_what_an_old_receiver_says_is_nothing_to_the_new_one(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/old").await;
    let queued = harness.queue(webhook, 4).await;
    let jobs = harness.take("worker", 4).await;
    let url = Some("https://r.org/new".to_owned());
    harness.store.update_webhook(webhook, WebhookPatch { url, ..WebhookPatch::default() }).await.unwrap();
    harness.advance(SECOND).await;
    let verdicts = [Verdict::Gone, RETRY, Verdict::Failed, Verdict::Delivered];
    let of_old = |(job, verdict)| Finished { url: "https://r.org/old".to_owned(), ..finished(job, verdict) };
    let marks = harness.mark(jobs.iter().zip(verdicts).map(of_old).collect()).await;
    assert_eq!(marks, Marks::default());
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

async fn d9_what_an_old_receiver_took_does_not_mend_the_new_one(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/old").await;
    harness.queue(webhook, 12).await;
    let slow = harness.take("slow", 2).await;
    let url = Some("https://r.org/new".to_owned());
    harness.store.update_webhook(webhook, WebhookPatch { url, ..WebhookPatch::default() }).await.unwrap();
    harness.fail_times(webhook, 3).await;
    let of_old = Finished { url: "https://r.org/old".to_owned(), ..finished(&slow[0], Verdict::Delivered) };
    assert_eq!(harness.mark(vec![of_old]).await, Marks::default());
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 3);
    // Nor does it hide what the new one took.
    let of_old = Finished { url: "https://r.org/old".to_owned(), ..finished(&slow[1], Verdict::Delivered) };
    let of_new = finished(&harness.take_one("worker").await, Verdict::Delivered);
    assert_eq!(harness.mark(vec![of_old, of_new]).await, Marks::default());
    assert_eq!(harness.the_webhook(webhook).await.consecutive_failures, 0);
}
