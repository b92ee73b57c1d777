//! Told to stop, it takes no more, ends what it sends, and releases the rest.

use std::time::Duration;

use domain::delivery::DeliveryStatus;
use engine::DeliverySettings;
use testkit::{Gate, Page};

use super::setup::{each, quick};

#[tokio::test(flavor = "multi_thread")]
async fn d7_stop_finishes_sends_and_releases_queued() {
    for setup in each(quick()).await {
        let gate = Gate::default();
        setup.webhook("/a").await;
        setup.receiver.answer("/a", Page::ok().behind(&gate));
        let working = setup.work();
        setup.publish(20).await;
        // Two are being sent, and others wait for their turn.
        setup.wait_sending("/a", 2).await;
        working.stop.cancel();
        // Released while the others are still being sent.
        setup.wait_held(2).await;
        assert_eq!(setup.receiver.receipts("/a").count(), 2, "nothing more is begun");
        gate.open();
        working.work.await.unwrap();
        let deliveries = setup.deliveries().await;
        let of = |status| deliveries.iter().filter(|delivery| delivery.delivery_status == status).count();
        assert_eq!((of(DeliveryStatus::Delivered), of(DeliveryStatus::Pending)), (2, 18));
        let pending = deliveries.iter().filter(|delivery| delivery.delivery_status == DeliveryStatus::Pending);
        assert!(
            pending.clone().all(|delivery| delivery.attempts == 0),
            "D8: a claim that was never sent is no attempt"
        );
        assert!(pending.clone().all(|delivery| delivery.lease_owner.is_none()));
        let next = setup.work_beside();
        setup.wait_delivered().await;
        next.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_unfinished_sends_are_released() {
    let settings = DeliverySettings { stop_wait: Duration::from_millis(50), ..quick() };
    for setup in each(settings).await {
        setup.webhook("/a").await;
        setup.receiver.answer_next("/a", [Page::hang()]);
        let working = setup.work();
        setup.publish(1).await;
        setup.receiver.wait_in_flight("/a", 1).await;
        working.stop().await;
        let delivery = setup.deliveries().await.remove(0);
        assert_eq!((delivery.delivery_status, delivery.lease_owner), (DeliveryStatus::Pending, None));
        let next = setup.work_beside();
        setup.wait_delivered().await;
        next.stop().await;
    }
}
