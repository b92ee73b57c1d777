//! Leases that are renewed while something is sent, and what becomes of them when they are not.

use domain::account::READER;
use std::time::Duration;

use domain::delivery::{Delivery, DeliveryStatus};
use testkit::{Gate, Page};

use super::setup::{each, with_lease};

const LEASE: Duration = Duration::from_secs(3);
const BEAT: Duration = Duration::from_secs(1);

/// D5: the send lasts for as long as the gate is closed, and that is longer than three leases. Their time is the test's:
/// it goes on by a beat after each beat, so that no lease runs out because the machine is slow.
#[tokio::test(flavor = "multi_thread")]
async fn fr_001_long_send_is_never_claimed_by_another() {
    for setup in each(with_lease(LEASE)).await {
        setup.world.stop_clocks().await;
        let gate = Gate::default();
        setup.webhook("/a").await;
        setup.receiver.answer("/a", Page::ok().behind(&gate));
        let first = setup.work();
        setup.publish(1).await;
        setup.receiver.wait_in_flight("/a", 1).await;
        let second = setup.work_beside();
        let claimed = setup.deliveries().await.remove(0);
        assert_eq!(claimed.lease_until, Some(setup.world.now() + LEASE));
        let end = setup.world.now() + LEASE * 3;
        while setup.world.now() <= end {
            let before = setup.world.now() + LEASE;
            setup.world.advance(BEAT).await;
            let renewed = |delivery: &Delivery| {
                assert_eq!(delivery.lease_owner, claimed.lease_owner, "FR-001 AC2: it stays with the first");
                let until = delivery.lease_until.unwrap();
                assert!(until == before || until == before + BEAT, "FR-001 AC1: a beat renews it: {until}");
                until > before
            };
            setup.wait_until("renewed", renewed).await;
        }
        assert_eq!(setup.receiver.receipts("/a").count(), 1, "the second never got it");
        gate.open();
        let delivery = setup.wait_delivered().await.remove(0);
        assert_eq!((delivery.attempts, delivery.lease_owner, delivery.lease_until), (1, None, None), "FR-001 AC3");
        first.stop().await;
        second.stop().await;
        assert_eq!(setup.receiver.receipts("/a").count(), 1);
    }
}

/// D7: nobody gives anything back, and nobody does anything about it.
#[tokio::test(flavor = "multi_thread")]
async fn fr_004_dead_workers_deliveries_go_to_another() {
    for setup in each(with_lease(LEASE)).await {
        setup.webhook("/a").await;
        setup.receiver.answer_next("/a", [Page::hang()]);
        let first = setup.work();
        setup.publish(1).await;
        setup.receiver.wait_in_flight("/a", 1).await;
        first.die();
        let second = setup.work_beside();
        let receipts = setup.receiver.receipts("/a").wait_for(2).await;
        assert_eq!(receipts[0].event_id(), receipts[1].event_id());
        assert_eq!(receipts[1].attempt(), Some(1), "FR-004 AC3: what was never marked is no attempt");
        let delivery = setup.wait_delivered().await.remove(0);
        assert_eq!(delivery.attempts, 1);
        second.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d10_mark_of_cancelled_delivery_is_skipped() {
    for setup in each(with_lease(LEASE)).await {
        let gate = Gate::default();
        setup.webhook("/a").await;
        setup.receiver.answer("/a", Page::ok().behind(&gate));
        let working = setup.work();
        setup.publish(1).await;
        setup.receiver.wait_in_flight("/a", 1).await;
        let delivery = setup.deliveries().await.remove(0);
        setup.world.store.cancel_delivery(READER, &delivery.id, "not needed").await.unwrap();
        gate.open();
        // After it the worker is free for the next, which is marked.
        setup.publish(1).await;
        let is_marked = |delivery: &domain::delivery::Delivery| delivery.delivery_status != DeliveryStatus::Pending;
        let deliveries = setup.wait_until("marked", is_marked).await;
        working.stop().await;
        assert_eq!(deliveries[0].delivery_status, DeliveryStatus::Delivered);
        let cancelled = &setup.deliveries().await[1];
        assert_eq!((cancelled.delivery_status, cancelled.attempts), (DeliveryStatus::Cancelled, 0));
        assert_eq!(cancelled.reason.as_deref(), Some("not needed"));
    }
}
