//! A slow or dead webhook never delays another.

use domain::account::READER;
use domain::ports::Viewer;
use std::time::Duration;

use domain::delivery::{BreakerRules, DeliveryStatus, EventType, NewWebhook, WebhookPatch};
use testkit::{Gate, Page};

use super::office::{each, quick};

#[tokio::test(flavor = "multi_thread")]
async fn d9_hanging_receiver_delays_nobody() {
    for office in each(quick()).await {
        let gate = Gate::default();
        office.webhook("/slow").await;
        office.webhook("/fast").await;
        office.receiver.answer("/slow", Page::ok().behind(&gate));
        let working = office.work();
        office.publish(100).await;
        office.receiver.receipts("/fast").wait_for(100).await;
        assert_eq!(office.receiver.in_flight_max("/slow"), 2, "it starts with two, and nothing has succeeded");
        assert_eq!(office.last_errors().await, [""; 0], "and nobody has waited for it to give up");
        gate.open();
        office.receiver.receipts("/slow").wait_for(100).await;
        office.wait_delivered().await;
        assert!(office.receiver.in_flight_max("/slow") <= 16 && office.receiver.in_flight_max("/fast") <= 16);
        assert_eq!(office.receiver.receipts("/slow").count(), 100, "each once");
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_a_hundred_that_hang_delay_nobody() {
    for office in each(quick()).await {
        let gate = Gate::default();
        for number in 0..100 {
            let path = format!("/dead/{number}");
            office.webhook(&path).await;
            office.receiver.answer(&path, Page::ok().behind(&gate));
        }
        let working = office.work();
        office.publish(3).await;
        office.webhook("/fast").await;
        office.publish(20).await;
        office.receiver.receipts("/fast").wait_for(20).await;
        assert_eq!(office.last_errors().await, [""; 0], "and nobody has waited for them to give up");
        gate.open();
        for number in 0..100 {
            office.receiver.receipts(&format!("/dead/{number}")).wait_for(23).await;
        }
        working.stop().await;
    }
}

/// Together more than memory has place for at once: what has been read is not kept until it is answered.
#[tokio::test(flavor = "multi_thread")]
async fn d9_hanging_large_payloads_delay_nobody() {
    for office in each(quick()).await {
        let gate = Gate::default();
        for number in 0..24 {
            let url = office.receiver.url(&format!("/dead/{number}"));
            office.receiver.answer(&format!("/dead/{number}"), Page::ok().behind(&gate));
            office.world.engine.create_webhook(READER, |secret| NewWebhook::to(url, secret)).await.unwrap();
        }
        let working = office.work();
        office.publish_text(&"long ".repeat(700_000)).await;
        for number in 0..24 {
            office.receiver.wait_in_flight(&format!("/dead/{number}"), 1).await;
        }
        assert_eq!(office.last_errors().await, [""; 0], "nobody has waited for another to give up");
        gate.open();
        office.wait_delivered().await;
        working.stop().await;
    }
}

/// They are slow, but all is well with them: there is no failure by which they could be told from others.
#[tokio::test(flavor = "multi_thread")]
async fn d9_many_slow_receivers_delay_nobody() {
    const KNOWN: usize = 5;
    for office in each(quick()).await {
        let gate = Gate::default();
        for number in 0..60 {
            let path = format!("/slow/{number}");
            office.webhook(&path).await;
            let slow = Page::ok().delay(Duration::from_secs(1));
            office.receiver.answer_next(&path, vec![slow.clone(); KNOWN]);
            // And then so slow that they are not done before the others, however slow the machine is.
            office.receiver.answer(&path, slow.behind(&gate));
        }
        let working = office.work();
        office.publish(60).await;
        // They are at it, and known to be slow.
        office.receiver.receipts("/slow/0").wait_for(KNOWN).await;
        office.webhook_with("/fast", |new| new.event_types = Some(vec![EventType::WebhookTest])).await;
        let fast = office.world.store.webhooks(READER).await.unwrap().pop().unwrap();
        for received in 1..=10 {
            office.world.store.test_webhook(READER, fast.id).await.unwrap();
            office.receiver.receipts("/fast").wait_for(received).await;
        }
        let left = office.world.store.outbox_overview(Viewer::Server).await.unwrap().pending;
        assert!(left > 1000, "what the slow ones have to do is far from done: {left}");
        gate.open();
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_queued_deliveries_of_disabled_webhook_are_unsent() {
    for office in each(quick()).await {
        let gate = Gate::default();
        let webhook = office.webhook("/a").await;
        office.receiver.answer("/a", Page::ok().behind(&gate));
        let working = office.work();
        office.publish(10).await;
        office.wait_sending("/a", 2).await;
        let disabled = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
        office.world.store.update_webhook(READER, webhook.id, disabled).await.unwrap();
        // A webhook is looked at again after a tenth of a second.
        tokio::time::sleep(Duration::from_millis(150)).await;
        gate.open();
        office.wait_held(0).await;
        assert_eq!(office.receiver.receipts("/a").count(), 2, "those that were being sent");
        let attempts: u32 = office.deliveries().await.iter().map(|delivery| delivery.attempts).sum();
        assert_eq!(attempts, 2);
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_queued_deliveries_follow_a_moved_webhook() {
    for office in each(quick()).await {
        let gate = Gate::default();
        let webhook = office.webhook("/old").await;
        office.receiver.answer("/old", Page::status(410).behind(&gate));
        let working = office.work();
        office.publish(10).await;
        office.wait_sending("/old", 2).await;
        let moved = WebhookPatch { url: Some(office.receiver.url("/new")), ..WebhookPatch::default() };
        office.world.store.update_webhook(READER, webhook.id, moved).await.unwrap();
        tokio::time::sleep(Duration::from_millis(150)).await;
        gate.open();
        office.receiver.receipts("/new").wait_for(10).await;
        office.wait_delivered().await;
        assert_eq!(office.receiver.receipts("/old").count(), 2);
        let now = office.world.store.webhook(READER, webhook.id).await.unwrap().unwrap();
        assert!(now.enabled && now.consecutive_failures == 0, "what the old one said is nothing to the new one");
        working.stop().await;
    }
}

/// After ten failures in a row there is one probe at a time, and no attempts are used up.
#[tokio::test(flavor = "multi_thread")]
async fn d9_open_breaker_probes_without_using_attempts() {
    for office in each(quick()).await {
        office.webhook("/a").await;
        let working = office.work();
        let BreakerRules { open_after, .. } = BreakerRules::default();
        // It is sent much at once when it breaks.
        office.publish(60).await;
        office.wait_delivered().await;
        office.receiver.answer("/a", Page::status(500));
        office.publish(30).await;
        office.receiver.receipts("/a").wait_for(60 + open_after as usize).await;
        // What was under way when it broke has ended, and what is left waits.
        let settled = |deliveries: &[domain::delivery::Delivery]| {
            deliveries.iter().all(|delivery| delivery.lease_owner.is_none())
        };
        let newest = async || office.deliveries().await.into_iter().take(30).collect::<Vec<_>>();
        let mut deliveries = newest().await;
        while !settled(&deliveries) {
            tokio::time::sleep(Duration::from_millis(10)).await;
            deliveries = newest().await;
        }
        assert!(deliveries.iter().all(|delivery| delivery.delivery_status == DeliveryStatus::Pending));
        let used: u32 = deliveries.iter().map(|delivery| delivery.attempts).sum();
        assert!((open_after..open_after + 16).contains(&used), "{used} attempts");
        assert!(deliveries.iter().any(|delivery| delivery.attempts == 0), "most have not been tried");
        office.receiver.answer("/a", Page::ok());
        office.wait_delivered().await;
        let webhook = office.world.store.webhooks(READER).await.unwrap().remove(0);
        assert_eq!(webhook.consecutive_failures, 0);
        working.stop().await;
    }
}
