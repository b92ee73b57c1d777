//! The beat, step by step: what it renews, what it says, and when it ends.

use std::sync::Arc;

use domain::{
    delivery::{BreakerRules, ClaimLimits, DeliveryStatus},
    ports::Clock,
};
use jiff::SignedDuration;

use super::{
    log,
    scene::{BEAT, LEASE, Scene},
};

#[tokio::test]
async fn fr_001_lease_is_renewed_until_mark_d5() {
    let scene = Scene::new().await;
    let (mut worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let claimed = scene.delivery().await;
    for beats in 1..=5 {
        if beats == 2 {
            // AC1: it is renewed while it waits, and while it is being sent.
            assert!(worker.begin().await);
        }
        scene.pass(&[&worker], BEAT);
        worker.dispatcher.beat().await;
        let now = scene.delivery().await;
        assert_eq!(now.lease_owner, claimed.lease_owner);
        assert_eq!(now.lease_until, Some(scene.database.clock.now() + LEASE), "AC2: forward, each time");
    }
    let _guard = log::listen();
    scene.network.answer(0, Ok(200), None);
    worker.settle().await;
    worker.mark(1, || 0).await;
    assert!(scene.logged(&worker, &claimed.event_id).contains("stop_reason=\"completed\""), "FR-005 AC2");
    assert_eq!(scene.delivery().await.delivery_status, DeliveryStatus::Delivered);
    assert!(worker.dispatcher.in_flight().leases().is_empty(), "AC3: it ends with the mark");
}

#[tokio::test]
async fn fr_002_late_mark_changes_nothing_d6() {
    let scene = Scene::new().await;
    let ((mut first, _), (mut second, _)) = (scene.worker(1), scene.worker(2));
    first.dispatcher.claim().await.unwrap();
    assert!(first.begin().await);
    // The first stands still for longer than its lease.
    scene.pass(&[&first, &second], LEASE);
    second.dispatcher.claim().await.unwrap();
    let taken = scene.delivery().await;
    assert_eq!(taken.lease_owner.as_deref(), Some(second.dispatcher.owner.as_str()));
    let guard = log::listen();
    first.dispatcher.beat().await;
    assert!(scene.logged(&first, &taken.event_id).contains("stop_reason=\"lease_lost\""), "FR-005 AC2");
    drop(guard);
    assert_eq!(scene.delivery().await, taken, "AC2: nothing of it is touched");
    assert!(first.dispatcher.in_flight().leases().is_empty(), "and it is renewed no longer");
    // The attempt goes on, and its mark changes nothing.
    scene.network.answer(0, Ok(500), None);
    first.settle().await;
    let model = Arc::clone(&scene.model);
    first.mark(1, || model.lock().unwrap().skipped).await;
    assert_eq!(scene.delivery().await, taken, "AC3: the mark is guarded as well");
    assert!(second.begin().await);
    scene.network.answer(0, Ok(200), None);
    second.settle().await;
    second.mark(1, || model.lock().unwrap().skipped).await;
    let delivered = scene.delivery().await;
    assert_eq!((delivered.delivery_status, delivered.attempts), (DeliveryStatus::Delivered, 1));
}

#[tokio::test]
async fn fr_005_failed_beat_is_logged_and_retried_d6() {
    let scene = Scene::new().await;
    let (mut worker, trouble) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    assert!(worker.begin().await);
    let event = scene.delivery().await.event_id;
    let _guard = log::listen();
    *trouble.lock().unwrap() = 1.0;
    scene.pass(&[&worker], BEAT);
    worker.dispatcher.beat().await;
    let log = scene.logged(&worker, &event);
    assert!(log.contains("as wanted") && !log.contains("stop_reason"), "AC1: with its error, and it goes on: {log}");
    *trouble.lock().unwrap() = 0.0;
    scene.pass(&[&worker], BEAT);
    worker.dispatcher.beat().await;
    assert_eq!(scene.delivery().await.lease_until, Some(scene.database.clock.now() + LEASE), "the next beat worked");
    // And now none works until the lease ends.
    *trouble.lock().unwrap() = 1.0;
    for _ in 0..2 {
        scene.pass(&[&worker], BEAT);
        worker.dispatcher.beat().await;
        assert!(!log::take().contains("stop_reason"));
    }
    scene.pass(&[&worker], BEAT);
    worker.dispatcher.beat().await;
    assert!(scene.logged(&worker, &event).contains("stop_reason=\"renewal_failed\""), "AC2");
    // The attempt goes on all the same. Nobody else has taken the row: its mark counts.
    *trouble.lock().unwrap() = 0.0;
    scene.network.answer(0, Ok(200), None);
    worker.settle().await;
    worker.mark(1, || 0).await;
    assert_eq!(scene.delivery().await.delivery_status, DeliveryStatus::Delivered);
}

#[tokio::test]
async fn d6_stalled_worker_sends_nothing_of_others() {
    let scene = Scene::new().await;
    let ((mut first, _), (second, _)) = (scene.worker(1), scene.worker(2));
    first.dispatcher.claim().await.unwrap();
    scene.pass(&[&first, &second], LEASE);
    second.dispatcher.claim().await.unwrap();
    assert!(first.begin().await);
    assert_eq!(scene.network.sent_in_all(), 0, "it asked first");
}

#[tokio::test]
async fn d6_a_clock_set_back_hides_no_expired_lease() {
    for chance_of_failure in [0.0, 1.0] {
        let scene = Scene::new().await;
        let ((mut first, trouble), (second, _)) = (scene.worker(1), scene.worker(2));
        first.dispatcher.claim().await.unwrap();
        *trouble.lock().unwrap() = chance_of_failure;
        first.clock.set(first.clock.now() - SignedDuration::from_hours(1));
        first.dispatcher.beat().await;
        scene.pass(&[&first, &second], LEASE);
        second.dispatcher.claim().await.unwrap();
        assert!(first.begin().await);
        assert_eq!(scene.network.sent_in_all(), 0, "it asked first: {chance_of_failure}");
    }
}

#[tokio::test]
async fn d6_expired_lease_is_renewed_before_sending() {
    let scene = Scene::new().await;
    let (mut worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    scene.pass(&[&worker], LEASE);
    assert!(worker.begin().await);
    assert_eq!(scene.network.sent_in_all(), 1);
    assert_eq!(scene.delivery().await.lease_until, Some(scene.database.clock.now() + LEASE));
}

#[tokio::test]
async fn fr_005_stalled_beat_decides_nothing_d6() {
    for is_answered in [true, false] {
        let scene = Scene::new().await;
        let ((mut first, _), (mut second, _)) = (scene.worker(1), scene.worker(2));
        first.dispatcher.claim().await.unwrap();
        assert!(first.begin().await);
        let event = scene.delivery().await.event_id;
        scene.pass(&[&first, &second], BEAT);
        let _guard = log::listen();
        scene.beat_standing_still(&first, is_answered).await;
        assert!(!log::take().contains("stop_reason"), "nobody has taken it so far");
        first.dispatcher.beat().await;
        assert_eq!(scene.delivery().await.lease_until, Some(scene.database.clock.now() + LEASE), "it is still its own");

        scene.pass(&[&first, &second], BEAT);
        scene.beat_standing_still(&first, is_answered).await;
        second.dispatcher.claim().await.unwrap();
        assert!(second.begin().await);
        assert!(!log::take().contains("stop_reason"));
        first.dispatcher.beat().await;
        let log = scene.logged(&first, &event);
        assert!(log.contains("stop_reason=\"lease_lost\"") && !log.contains("renewal_failed"), "{log}");
    }
}

#[tokio::test]
async fn fr_005_lost_unmarked_delivery_is_logged_by_mark_d6() {
    let scene = Scene::new().await;
    let ((mut first, _), (second, _)) = (scene.worker(1), scene.worker(2));
    first.dispatcher.claim().await.unwrap();
    assert!(first.begin().await);
    scene.pass(&[&first, &second], LEASE);
    second.dispatcher.claim().await.unwrap();
    let taken = scene.delivery().await;
    // It wakes up to its answer and to a beat.
    scene.network.answer(0, Ok(200), None);
    first.settle().await;
    let _guard = log::listen();
    first.dispatcher.beat().await;
    assert!(!log::take().contains("stop_reason"), "it may have ended well: only its mark knows");
    let model = Arc::clone(&scene.model);
    first.mark(1, || model.lock().unwrap().skipped).await;
    let log = scene.logged(&first, &taken.event_id);
    assert!(log.contains("stop_reason=\"lease_lost\"") && !log.contains("renewal_failed"), "{log}");
    assert_eq!(scene.delivery().await, taken);
}

#[tokio::test]
async fn d12_stalled_worker_renews_before_claiming() {
    let scene = Scene::new().await;
    let (mut worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    assert!(worker.begin().await);
    scene.pass(&[&worker], LEASE);
    let summary = worker.dispatcher.claim().await.unwrap();
    assert_eq!(summary.count, 0, "its own row is not free");
    assert_eq!(scene.delivery().await.lease_until, Some(scene.database.clock.now() + LEASE));
    scene.network.answer(0, Ok(200), None);
    worker.settle().await;
    worker.mark(1, || 0).await;
    assert_eq!(scene.delivery().await.delivery_status, DeliveryStatus::Delivered);
}

/// As far as the store can tell the lease is over. This node stood still between its look at that and its claim.
#[tokio::test]
async fn d12_reclaimed_delivery_is_not_sent_twice() {
    let scene = Scene::new().await;
    let (mut worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let first = scene.delivery().await.lease_until;
    assert!(worker.begin().await);
    scene.database.clock.advance(LEASE);
    let _guard = log::listen();
    let summary = worker.dispatcher.claim().await.unwrap();
    assert_eq!((summary.count, worker.dispatcher.in_flight().next().is_none()), (0, true), "there is nothing to send");
    assert!(scene.delivery().await.lease_until > first, "but it has a new lease");
    worker.dispatcher.beat().await;
    assert!(!log::take().contains("stop_reason"), "which is renewed like any other");
    scene.network.answer(0, Ok(200), None);
    worker.settle().await;
    // Once more, while its mark is on its way.
    scene.database.clock.advance(LEASE);
    assert_eq!(worker.dispatcher.claim().await.unwrap().count, 0);
    let model = Arc::clone(&scene.model);
    worker.mark(1, || model.lock().unwrap().skipped).await;
    assert_eq!(model.lock().unwrap().skipped, 0);
    assert_eq!(scene.delivery().await.delivery_status, DeliveryStatus::Delivered);
    assert_eq!(scene.network.sent_in_all(), 1);
    assert!(worker.dispatcher.in_flight().leases().is_empty());
}

/// The store has claimed the row for this worker once more, the answer is on its way, and its mark finds another fence.
#[tokio::test]
async fn d12_mark_waits_for_own_reclaim() {
    let scene = Scene::new().await;
    let (mut worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    assert!(worker.begin().await);
    scene.network.answer(0, Ok(200), None);
    worker.settle().await;
    scene.database.clock.advance(LEASE);
    let limits = ClaimLimits { limit: 9, of_others: 9, ..ClaimLimits::default() };
    let claimed = worker.dispatcher.store.claim_deliveries(&worker.dispatcher.owner, LEASE, &limits).await.unwrap();
    assert_eq!(claimed.jobs.len(), 1);
    worker.dispatcher.in_flight().is_claiming = true;
    let marks = worker.unmarked();
    let later = worker.dispatcher.mark(&marks, false).await.unwrap();
    assert_eq!(later.len(), 1, "whether the row is lost is not known yet");
    let (jobs, stopped) = worker.dispatcher.in_flight().hold(claimed.jobs, worker.dispatcher.after(LEASE));
    assert_eq!((jobs.len(), stopped.len()), (0, 0), "it is not sent once more");
    assert!(scene.store.finish_deliveries(later.clone(), &BreakerRules::default()).await.unwrap().skipped.len() == 1);
    assert_eq!(worker.dispatcher.mark(&later, true).await.unwrap(), []);
    assert_eq!(scene.delivery().await.delivery_status, DeliveryStatus::Delivered);
}

#[tokio::test]
async fn d7_reclaimed_deliveries_are_released() {
    let scene = Scene::new().await;
    let (worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    scene.database.clock.advance(LEASE);
    worker.dispatcher.claim().await.unwrap();
    worker.dispatcher.release_waiting().await;
    assert_eq!(scene.delivery().await.lease_owner, None);
    worker.dispatcher.claim().await.unwrap();
    scene.database.clock.advance(LEASE);
    worker.dispatcher.claim().await.unwrap();
    assert_eq!(worker.dispatcher.release_all().await.unwrap(), 1);
    assert_eq!(scene.delivery().await.lease_owner, None);
}

#[tokio::test]
async fn fr_005_superseded_claim_is_lost_d6() {
    let scene = Scene::new().await;
    let ((mut first, _), (second, _)) = (scene.worker(1), scene.worker(2));
    first.dispatcher.claim().await.unwrap();
    assert!(first.begin().await);
    let event = scene.delivery().await.event_id;
    for worker in [&second, &first] {
        // By the clock of the store the lease is over, by their own it is not.
        scene.database.clock.advance(LEASE);
        let _guard = log::listen();
        assert_eq!(worker.dispatcher.claim().await.unwrap().count, 1);
    }
    let log = scene.logged(&first, &event);
    assert_eq!(log.matches("lease_lost").count(), 1, "{log}");
}

#[tokio::test]
async fn fr_005_mark_after_failed_renewal_logs_loss_d6() {
    let scene = Scene::new().await;
    let ((mut first, trouble), (second, _)) = (scene.worker(1), scene.worker(2));
    first.dispatcher.claim().await.unwrap();
    assert!(first.begin().await);
    scene.pass(&[&first, &second], LEASE);
    second.dispatcher.claim().await.unwrap();
    let taken = scene.delivery().await;
    let _guard = log::listen();
    *trouble.lock().unwrap() = 1.0;
    first.dispatcher.beat().await;
    assert!(scene.logged(&first, &taken.event_id).contains("stop_reason=\"renewal_failed\""));
    *trouble.lock().unwrap() = 0.0;
    scene.network.answer(0, Ok(200), None);
    first.settle().await;
    let model = Arc::clone(&scene.model);
    first.mark(1, || model.lock().unwrap().skipped).await;
    assert!(scene.logged(&first, &taken.event_id).contains("stop_reason=\"lease_lost\""));
    assert_eq!(scene.delivery().await, taken);
}

#[tokio::test]
async fn d7_panicking_send_is_released() {
    let scene = Scene::new().await;
    let (mut worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    scene.network.mine();
    assert!(worker.begin().await);
    worker.settle().await;
    assert_eq!(worker.dispatcher.in_flight().counts(), (0, 0));
    let delivery = scene.delivery().await;
    assert_eq!((delivery.lease_owner, delivery.attempts), (None, 0));
    worker.dispatcher.claim().await.unwrap();
    assert!(worker.begin().await);
    assert_eq!(scene.network.waiting(), 1, "and it is sent after all");
}
