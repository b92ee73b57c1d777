//! What receivers answer, and what becomes of the delivery.

use domain::account::READER;
use std::time::Duration;

use domain::delivery::{ANSWER_BYTES_MAX, DeliveryStatus, RetryRules};
use engine::DeliverySettings;
use jiff::SignedDuration;
use serde_json::Value;
use testkit::Page;

use super::setup::{each, quick};

#[tokio::test(flavor = "multi_thread")]
async fn d8_retry_keeps_event_id() {
    for setup in each(quick()).await {
        setup.webhook("/a").await;
        setup.receiver.answer_next("/a", [Page::status(500), Page::reset(), Page::status(404)]);
        let working = setup.work();
        setup.publish(1).await;
        let receipts = setup.receiver.receipts("/a").wait_for(4).await;
        let attempts: Vec<Option<u32>> = receipts.iter().map(testkit::Receipt::attempt).collect();
        assert_eq!(attempts, [1, 2, 3, 4].map(Some));
        assert!(receipts.iter().all(|receipt| receipt.event_id() == receipts[0].event_id()), "D3: the same id");
        let delivery = setup.wait_delivered().await.remove(0);
        assert_eq!((delivery.attempts, delivery.last_status_code), (4, Some(200)));
        let kept = setup.attempts(&delivery).await;
        assert_eq!(
            kept.iter().map(|attempt| attempt.status_code).collect::<Vec<_>>(),
            [Some(500), None, Some(404), Some(200)]
        );
        assert!(
            kept[1].error.as_ref().is_some_and(|error| error.contains("127.0.0.1")),
            "it says what was wrong: {kept:?}"
        );
        working.stop().await;
    }
}

/// The one that hangs is waited for, so it is alone: an attempt after it that a slow machine cuts off is made again.
#[tokio::test(flavor = "multi_thread")]
async fn d8_receiver_that_hangs_is_tried_again() {
    let settings = DeliverySettings { timeout: Duration::from_secs(2), ..quick() };
    for setup in each(settings).await {
        setup.webhook("/hang").await;
        setup.receiver.answer_next("/hang", [Page::hang()]);
        let working = setup.work();
        setup.publish(1).await;
        let delivery = setup.wait_delivered().await.remove(0);
        let attempts = setup.attempts(&delivery).await;
        let error = attempts[0].error.as_deref().unwrap_or_default();
        assert!(error.contains("in time"), "{attempts:?}");
        working.stop().await;
    }
}

/// Each is a failure that is told in words, and the next attempt arrives.
#[tokio::test(flavor = "multi_thread")]
async fn d8_every_failure_is_retried() {
    for setup in each(quick()).await {
        let answers = [
            ("/redirect", Page::redirect(307, &setup.receiver.url("/elsewhere")), "redirects are not followed"),
            ("/close", Page::close(), "broke off"),
            ("/garbage", Page::garbage("nonsense\r\n\r\n"), "broke off"),
            ("/huge", Page::huge(100_000_000).with_status(500), "it answered 500"),
            ("/drip", Page::drip("slowly", Duration::from_secs(1)).with_status(503), "it answered 503"),
        ];
        for (path, answer, _) in &answers {
            setup.webhook(path).await;
            setup.receiver.answer_next(path, [answer.clone()]);
        }
        let working = setup.work();
        setup.publish(1).await;
        for (path, _, error) in &answers {
            setup.receiver.receipts(path).wait_for(2).await;
            let delivery = setup.wait_delivered_to(path).await;
            let attempts = setup.attempts(&delivery).await;
            let found = attempts[0].error.clone().unwrap_or_default();
            assert!(found.contains(error), "{path}: {attempts:?}");
            assert!(attempts[0].answer.as_ref().is_none_or(|answer| answer.len() <= ANSWER_BYTES_MAX), "D10");
        }
        assert_eq!(setup.receiver.receipts("/elsewhere").count(), 0);
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_endless_answer_counts_by_status() {
    for setup in each(quick()).await {
        for (path, answer) in
            [("/huge", Page::huge(100_000_000)), ("/drip", Page::drip("x".repeat(5000), Duration::from_secs(1)))]
        {
            setup.webhook(path).await;
            setup.receiver.answer(path, answer);
        }
        let working = setup.work();
        setup.publish(1).await;
        for delivery in setup.wait_delivered().await {
            assert_eq!(delivery.attempts, 1);
            let attempts = setup.attempts(&delivery).await;
            assert!(attempts[0].answer.as_ref().is_some_and(|answer| answer.len() <= ANSWER_BYTES_MAX), "D10");
        }
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_retry_after_is_honoured() {
    for setup in each(quick()).await {
        setup.webhook("/a").await;
        setup.receiver.answer("/a", Page::status(429).with_retry_after(3600));
        let working = setup.work();
        setup.publish(1).await;
        let deliveries = setup.wait_until("tried once", |delivery| delivery.attempts == 1).await;
        let wait = deliveries[0].next_attempt_at.unwrap().duration_since(deliveries[0].created_at);
        assert!(wait > SignedDuration::from_mins(59) && wait < SignedDuration::from_mins(70), "{wait:?}");
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_delivery_fails_after_last_attempt() {
    let retry = RetryRules { first: Duration::from_millis(5), jitter: 0.0, attempts: 4, ..RetryRules::default() };
    for (budget, attempts) in [(0, 4), (1, 2)] {
        for setup in each(DeliverySettings { retry: RetryRules { budget, ..retry }, ..quick() }).await {
            setup.webhook("/a").await;
            setup.receiver.answer("/a", Page::body("no").with_status(500));
            let working = setup.work();
            setup.publish(1).await;
            let failed = |delivery: &domain::delivery::Delivery| delivery.delivery_status == DeliveryStatus::Failed;
            let delivery = setup.wait_until("failed", failed).await.remove(0);
            assert_eq!(delivery.attempts, attempts);
            let kept = setup.attempts(&delivery).await;
            assert_eq!(kept.len(), attempts as usize, "D10: each is kept");
            assert_eq!(kept[0].answer.as_deref(), Some("no"));
            assert_eq!(setup.receiver.receipts("/a").count(), attempts as usize);
            working.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_410_disables_webhook_and_records_an_event() {
    for setup in each(quick()).await {
        let gone = setup.webhook("/gone").await;
        setup.webhook("/other").await;
        setup.receiver.answer("/gone", Page::status(410));
        let working = setup.work();
        setup.publish(1).await;
        let is_disabled = |receipts: &[testkit::Receipt]| {
            receipts.iter().any(|receipt| {
                let payload: Value = serde_json::from_slice(receipt.body()).unwrap();
                payload["type"] == "webhook.disabled" && payload["data"]["webhook"]["id"] == gone.id.0
            })
        };
        setup.receiver.receipts("/other").wait_until("told of it", is_disabled).await;
        let now = setup.world.store.webhook(READER, gone.id).await.unwrap().unwrap();
        assert!(!now.enabled && now.disabled_reason.is_some_and(|reason| reason.contains("410")));
        assert_eq!(setup.receiver.receipts("/gone").count(), 1);
        working.stop().await;
    }
}

/// U8: nothing is sent to an address that is not public.
#[tokio::test(flavor = "multi_thread")]
async fn u8_private_webhook_is_not_called() {
    for setup in each(quick()).await {
        setup.webhook_with("/a", |new| new.url = "http://169.254.169.254/latest".into()).await;
        let working = setup.work();
        setup.publish(1).await;
        let delivery = setup.wait_until("tried", |delivery| delivery.attempts > 0).await.remove(0);
        assert!(delivery.last_error.as_ref().is_some_and(|error| error.contains("not public")), "{delivery:?}");
        working.stop().await;
    }
}
