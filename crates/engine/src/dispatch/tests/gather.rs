//! Marks on their way into a store that is in trouble.

use std::{sync::Arc, time::Duration};

use domain::{
    delivery::{Delivery, DeliveryFilter, DeliveryStatus},
    ports::StoreError,
};

use super::{faulty::MarkTrouble, scene::Scene};
use crate::dispatch::Dispatcher;

/// Three deliveries that were answered, and whose marks are being stored in spite of these.
async fn marked_in_spite_of(scene: &Scene, troubles: impl IntoIterator<Item = MarkTrouble>) -> Arc<Dispatcher> {
    let webhook = scene.store.webhooks().await.unwrap().remove(0).id;
    for _ in 0..2 {
        scene.store.test_webhook(webhook).await.unwrap();
    }
    let (mut worker, _) = scene.worker(1);
    for _ in 0..3 {
        worker.dispatcher.claim().await.unwrap();
        while worker.begin().await {}
        while scene.network.waiting() > 0 {
            scene.network.answer(0, Ok(200), None);
        }
        worker.settle().await;
    }
    assert_eq!(worker.dispatcher.desk().unmarked(), 3);
    scene.marks.lock().unwrap().extend(troubles);
    worker.gather()
}

async fn deliveries(scene: &Scene, status: DeliveryStatus) -> Vec<Delivery> {
    let filter = DeliveryFilter { status: Some(status), ..DeliveryFilter::default() };
    scene.store.deliveries(filter, 10, None).await.unwrap().events
}

async fn wait_delivered(scene: &Scene, count: usize) {
    let is_so = async {
        while deliveries(scene, DeliveryStatus::Delivered).await.len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), is_so).await.expect("they are never marked");
}

#[tokio::test]
async fn d12_a_mark_that_cannot_be_stored_costs_no_other_also_if_the_store_goes_away_meanwhile() {
    let scene = Scene::new().await;
    let broken = || MarkTrouble::Fails(StoreError::Failed("as wanted".to_owned()));
    let away = || MarkTrouble::Fails(StoreError::Unavailable("as wanted".to_owned()));
    // All at once, then the first of them, then the second twice.
    let dispatcher = marked_in_spite_of(&scene, [broken(), broken(), away(), away()]).await;
    wait_delivered(&scene, 2).await;
    assert_eq!(deliveries(&scene, DeliveryStatus::Pending).await.len(), 1);
    assert!(dispatcher.held.leases().is_empty(), "it is renewed no longer, and made again");
    assert_eq!(dispatcher.desk().unmarked(), 0);
}

#[tokio::test]
async fn d12_marks_that_are_locked_are_stored_later_and_hold_up_no_others() {
    let scene = Scene::new().await;
    let dispatcher = marked_in_spite_of(&scene, [MarkTrouble::FirstIsLocked]).await;
    wait_delivered(&scene, 2).await;
    assert_eq!((dispatcher.held.leases().len(), dispatcher.desk().unmarked()), (1, 1), "it is held until it is stored");
    wait_delivered(&scene, 3).await;
}

#[tokio::test]
async fn d12_after_a_panic_marks_are_stored_again() {
    let scene = Scene::new().await;
    let dispatcher = marked_in_spite_of(&scene, [MarkTrouble::Panics]).await;
    let given_up = async {
        while dispatcher.desk().unmarked() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), given_up).await.expect("they are held for ever");
    assert!(dispatcher.held.leases().is_empty(), "others may have them");
    // They are free when their leases have run out, and the gatherer is still there.
    scene.database.clock.advance(super::scene::LEASE);
    dispatcher.claim().await.unwrap();
    let turn = dispatcher.desk().next().unwrap();
    let sending = tokio::spawn({
        let dispatcher = Arc::clone(&dispatcher);
        async move { crate::dispatch::send::deliver(&dispatcher, turn).await }
    });
    while scene.network.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    scene.network.answer(0, Ok(200), None);
    sending.await.unwrap();
    wait_delivered(&scene, 1).await;
}
