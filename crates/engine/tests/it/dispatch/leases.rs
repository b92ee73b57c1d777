//! Leases that are renewed while something is sent, and what becomes of them when they are not.

use std::time::Duration;

use domain::delivery::DeliveryStatus;
use testkit::{Gate, Page};

use super::office::{each, with_lease};

/// Short, but not so short that it runs out when the machine stands still for a moment.
const LEASE: Duration = Duration::from_secs(3);

/// D5: the send lasts for as long as the gate is closed, and that is longer than three leases.
#[tokio::test(flavor = "multi_thread")]
async fn fr_001_two_workers_and_a_send_of_three_leases_and_the_second_never_gets_the_row() {
    for office in each(with_lease(LEASE)).await {
        let gate = Gate::default();
        office.webhook("/a").await;
        office.receiver.answer("/a", Page::ok().behind(&gate));
        let first = office.work();
        office.publish(1).await;
        office.receiver.wait_in_flight("/a", 1).await;
        let second = office.work_beside();
        let before = office.deliveries().await.remove(0);
        let (owner, mut until) = (before.lease_owner.clone().unwrap(), before.lease_until.unwrap());
        let mut beats = 0;
        // Three leases, told by the store's own clock.
        let end = until + LEASE * 3;
        while until < end {
            let now = office.deliveries().await.remove(0);
            assert_eq!(now.lease_owner.as_deref(), Some(owner.as_str()), "FR-001 AC2: it stays with the first");
            let next = now.lease_until.unwrap();
            assert!(next >= until, "it never goes back");
            beats += usize::from(next > until);
            until = next;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(beats >= 3, "FR-001 AC1: it beats from the start: {beats}");
        assert_eq!(office.receiver.receipts("/a").count(), 1, "the second never got it");
        gate.open();
        let delivery = office.wait_delivered().await.remove(0);
        assert_eq!((delivery.attempts, delivery.lease_owner, delivery.lease_until), (1, None, None), "FR-001 AC3");
        first.stop().await;
        second.stop().await;
        assert_eq!(office.receiver.receipts("/a").count(), 1);
    }
}

/// D7: nobody gives anything back, and nobody does anything about it.
#[tokio::test(flavor = "multi_thread")]
async fn fr_004_what_a_dead_worker_held_is_delivered_by_another_after_the_lease() {
    for office in each(with_lease(LEASE)).await {
        office.webhook("/a").await;
        office.receiver.answer_next("/a", [Page::hang()]);
        let first = office.work();
        office.publish(1).await;
        office.receiver.wait_in_flight("/a", 1).await;
        first.die();
        let second = office.work_beside();
        let receipts = office.receiver.receipts("/a").wait_for(2).await;
        assert_eq!(receipts[0].event_id(), receipts[1].event_id());
        assert_eq!(receipts[1].attempt(), Some(1), "FR-004 AC3: what was never marked is no attempt");
        let delivery = office.wait_delivered().await.remove(0);
        assert_eq!(delivery.attempts, 1);
        second.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d10_cancelled_while_it_is_being_sent_its_mark_is_skipped() {
    for office in each(with_lease(LEASE)).await {
        let gate = Gate::default();
        office.webhook("/a").await;
        office.receiver.answer("/a", Page::ok().behind(&gate));
        let working = office.work();
        office.publish(1).await;
        office.receiver.wait_in_flight("/a", 1).await;
        let delivery = office.deliveries().await.remove(0);
        office.world.store.cancel_delivery(&delivery.id, "not needed").await.unwrap();
        gate.open();
        // After it the worker is free for the next, which is marked.
        office.publish(1).await;
        let is_marked = |delivery: &domain::delivery::Delivery| delivery.delivery_status != DeliveryStatus::Pending;
        let deliveries = office.wait_until("marked", is_marked).await;
        working.stop().await;
        assert_eq!(deliveries[0].delivery_status, DeliveryStatus::Delivered);
        let cancelled = &office.deliveries().await[1];
        assert_eq!((cancelled.delivery_status, cancelled.attempts), (DeliveryStatus::Cancelled, 0));
        assert_eq!(cancelled.reason.as_deref(), Some("not needed"));
    }
}
