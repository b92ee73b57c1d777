//! A slow or dead webhook never delays another.

use domain::account::READER;
use domain::ports::Viewer;
use std::time::Duration;

use domain::delivery::{BreakerRules, DeliveryStatus, EventType, NewWebhook, WebhookPatch};
use testkit::{Gate, Page};

use super::setup::{each, quick};

#[tokio::test(flavor = "multi_thread")]
async fn d9_hanging_receiver_delays_nobody() {
    for setup in each(quick()).await {
        let gate = Gate::default();
        setup.webhook("/slow").await;
        setup.webhook("/fast").await;
        setup.receiver.answer("/slow", Page::ok().behind(&gate));
        let working = setup.work();
        setup.publish(100).await;
        setup.receiver.receipts("/fast").wait_for(100).await;
        assert_eq!(setup.receiver.in_flight_max("/slow"), 2, "it starts with two, and nothing has succeeded");
        assert_eq!(setup.last_errors().await, [""; 0], "and nobody has waited for it to give up");
        gate.open();
        setup.receiver.receipts("/slow").wait_for(100).await;
        setup.wait_delivered().await;
        assert!(setup.receiver.in_flight_max("/slow") <= 16 && setup.receiver.in_flight_max("/fast") <= 16);
        assert_eq!(setup.receiver.receipts("/slow").count(), 100, "each once");
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_a_hundred_that_hang_delay_nobody() {
    for setup in each(quick()).await {
        let gate = Gate::default();
        for number in 0..100 {
            let path = format!("/dead/{number}");
            setup.webhook(&path).await;
            setup.receiver.answer(&path, Page::ok().behind(&gate));
        }
        let working = setup.work();
        setup.publish(3).await;
        setup.webhook("/fast").await;
        setup.publish(20).await;
        setup.receiver.receipts("/fast").wait_for(20).await;
        assert_eq!(setup.last_errors().await, [""; 0], "and nobody has waited for them to give up");
        gate.open();
        for number in 0..100 {
            setup.receiver.receipts(&format!("/dead/{number}")).wait_for(23).await;
        }
        working.stop().await;
    }
}

/// Together more than memory has place for at once: what has been read is not kept until it is answered.
#[tokio::test(flavor = "multi_thread")]
async fn d9_hanging_large_payloads_delay_nobody() {
    for setup in each(quick()).await {
        let gate = Gate::default();
        for number in 0..24 {
            let url = setup.receiver.url(&format!("/dead/{number}"));
            setup.receiver.answer(&format!("/dead/{number}"), Page::ok().behind(&gate));
            setup.world.engine.create_webhook(READER, |secret| NewWebhook::to(url, secret)).await.unwrap();
        }
        let working = setup.work();
        setup.publish_text(&"long ".repeat(700_000)).await;
        for number in 0..24 {
            setup.receiver.wait_in_flight(&format!("/dead/{number}"), 1).await;
        }
        assert_eq!(setup.last_errors().await, [""; 0], "nobody has waited for another to give up");
        gate.open();
        setup.wait_delivered().await;
        working.stop().await;
    }
}

/// They are slow, but all is well with them: there is no failure by which they could be told from others.
#[tokio::test(flavor = "multi_thread")]
async fn d9_many_slow_receivers_delay_nobody() {
    const KNOWN: usize = 5;
    for setup in each(quick()).await {
        let gate = Gate::default();
        for number in 0..60 {
            let path = format!("/slow/{number}");
            setup.webhook(&path).await;
            let slow = Page::ok().delay(Duration::from_secs(1));
            setup.receiver.answer_next(&path, vec![slow.clone(); KNOWN]);
            // And then so slow that they are not done before the others, however slow the machine is.
            setup.receiver.answer(&path, slow.behind(&gate));
        }
        let working = setup.work();
        setup.publish(60).await;
        // They are at it, and known to be slow.
        setup.receiver.receipts("/slow/0").wait_for(KNOWN).await;
        setup.webhook_with("/fast", |new| new.event_types = Some(vec![EventType::WebhookTest])).await;
        let fast = setup.world.store.webhooks(READER).await.unwrap().pop().unwrap();
        for received in 1..=10 {
            setup.world.store.test_webhook(READER, fast.id).await.unwrap();
            setup.receiver.receipts("/fast").wait_for(received).await;
        }
        let left = setup.world.store.outbox_overview(Viewer::Server).await.unwrap().pending;
        assert!(left > 1000, "what the slow ones have to do is far from done: {left}");
        gate.open();
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_queued_deliveries_of_disabled_webhook_are_unsent() {
    for setup in each(quick()).await {
        let gate = Gate::default();
        let webhook = setup.webhook("/a").await;
        setup.receiver.answer("/a", Page::ok().behind(&gate));
        let working = setup.work();
        setup.publish(10).await;
        setup.wait_sending("/a", 2).await;
        let disabled = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
        setup.world.store.update_webhook(READER, webhook.id, disabled).await.unwrap();
        // A webhook is looked at again after a tenth of a second.
        tokio::time::sleep(Duration::from_millis(150)).await;
        gate.open();
        setup.wait_held(0).await;
        assert_eq!(setup.receiver.receipts("/a").count(), 2, "those that were being sent");
        let attempts: u32 = setup.deliveries().await.iter().map(|delivery| delivery.attempts).sum();
        assert_eq!(attempts, 2);
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_queued_deliveries_follow_a_moved_webhook() {
    for setup in each(quick()).await {
        let gate = Gate::default();
        let webhook = setup.webhook("/old").await;
        setup.receiver.answer("/old", Page::status(410).behind(&gate));
        let working = setup.work();
        setup.publish(10).await;
        setup.wait_sending("/old", 2).await;
        let moved = WebhookPatch { url: Some(setup.receiver.url("/new")), ..WebhookPatch::default() };
        setup.world.store.update_webhook(READER, webhook.id, moved).await.unwrap();
        tokio::time::sleep(Duration::from_millis(150)).await;
        gate.open();
        setup.receiver.receipts("/new").wait_for(10).await;
        setup.wait_delivered().await;
        assert_eq!(setup.receiver.receipts("/old").count(), 2);
        let now = setup.world.store.webhook(READER, webhook.id).await.unwrap().unwrap();
        assert!(now.enabled && now.consecutive_failures == 0, "what the old one said is nothing to the new one");
        working.stop().await;
    }
}

/// After ten failures in a row there is one probe at a time, and no attempts are used up.
#[tokio::test(flavor = "multi_thread")]
async fn d9_open_breaker_probes_without_using_attempts() {
    for setup in each(quick()).await {
        setup.webhook("/a").await;
        let working = setup.work();
        let BreakerRules { open_after, .. } = BreakerRules::default();
        // It is sent much at once when it breaks.
        setup.publish(60).await;
        setup.wait_delivered().await;
        setup.receiver.answer("/a", Page::status(500));
        setup.publish(30).await;
        setup.receiver.receipts("/a").wait_for(60 + open_after as usize).await;
        // What was under way when it broke has ended, and what is left waits.
        let settled = |deliveries: &[domain::delivery::Delivery]| {
            deliveries.iter().all(|delivery| delivery.lease_owner.is_none())
        };
        let newest = async || setup.deliveries().await.into_iter().take(30).collect::<Vec<_>>();
        let mut deliveries = newest().await;
        while !settled(&deliveries) {
            tokio::time::sleep(Duration::from_millis(10)).await;
            deliveries = newest().await;
        }
        assert!(deliveries.iter().all(|delivery| delivery.delivery_status == DeliveryStatus::Pending));
        let used: u32 = deliveries.iter().map(|delivery| delivery.attempts).sum();
        assert!((open_after..open_after + 16).contains(&used), "{used} attempts");
        assert!(deliveries.iter().any(|delivery| delivery.attempts == 0), "most have not been tried");
        setup.receiver.answer("/a", Page::ok());
        setup.wait_delivered().await;
        let webhook = setup.world.store.webhooks(READER).await.unwrap().remove(0);
        assert_eq!(webhook.consecutive_failures, 0);
        working.stop().await;
    }
}
