//! Marks on their way into a store that is in trouble.

use domain::account::READER;
use std::{sync::Arc, time::Duration};

use domain::{
    delivery::{Delivery, DeliveryFilter, DeliveryStatus},
    ports::StoreError,
};

use super::{faulty::MarkTrouble, scene::Scene};
use crate::dispatch::Dispatcher;

/// Three deliveries that were answered, and whose marks are being stored in spite of these.
async fn marked_in_spite_of(scene: &Scene, troubles: impl IntoIterator<Item = MarkTrouble>) -> Arc<Dispatcher> {
    let webhook = scene.store.webhooks(READER).await.unwrap().remove(0).id;
    for _ in 0..2 {
        scene.store.test_webhook(READER, webhook).await.unwrap();
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
    assert_eq!(worker.dispatcher.in_flight().unmarked(), 3);
    scene.marks.lock().unwrap().extend(troubles);
    worker.marks()
}

async fn deliveries(scene: &Scene, status: DeliveryStatus) -> Vec<Delivery> {
    let filter = DeliveryFilter { status: Some(status), ..DeliveryFilter::default() };
    scene.store.deliveries(READER, filter, 10, None).await.unwrap().deliveries
}

/// Waits until so many marks are still to be stored, by the word of the dispatcher itself.
async fn wait_unmarked(dispatcher: &Dispatcher, count: u32) {
    let is_so = async {
        while dispatcher.in_flight().unmarked() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(3), is_so).await.expect("it never comes to that");
}

#[tokio::test]
async fn d12_unstorable_mark_costs_no_other() {
    for is_panic in [false, true] {
        let scene = Scene::new().await;
        let failure = || MarkTrouble::Fails(StoreError::Failed("as wanted".to_owned()));
        let broken = || if is_panic { MarkTrouble::Panics } else { failure() };
        let away = || MarkTrouble::Fails(StoreError::Unavailable("as wanted".to_owned()));
        // All at once, then the first of them, then the second twice.
        let dispatcher = marked_in_spite_of(&scene, [broken(), broken(), away(), away()]).await;
        wait_unmarked(&dispatcher, 0).await;
        assert_eq!(deliveries(&scene, DeliveryStatus::Delivered).await.len(), 2);
        assert_eq!(deliveries(&scene, DeliveryStatus::Pending).await.len(), 1);
        assert!(dispatcher.in_flight().leases().is_empty(), "it is renewed no longer, and made again");
    }
}

#[tokio::test]
async fn d9_d12_locked_marks_are_deferred() {
    let scene = Scene::new().await;
    // It is locked until this test says otherwise.
    let locked = (0..1000).map(|_| MarkTrouble::FirstIsLocked);
    let dispatcher = marked_in_spite_of(&scene, locked).await;
    wait_unmarked(&dispatcher, 1).await;
    assert_eq!(deliveries(&scene, DeliveryStatus::Delivered).await.len(), 2);
    assert_eq!(dispatcher.in_flight().leases().len(), 1, "it is held until it is stored");
    assert!(
        dispatcher.in_flight().claim_limits().of.iter().all(|(_, limits)| *limits == 0),
        "its webhook is sent nothing more"
    );
    scene.marks.lock().unwrap().clear();
    wait_unmarked(&dispatcher, 0).await;
    assert_eq!(deliveries(&scene, DeliveryStatus::Delivered).await.len(), 3);
}
