//! A webhook is looked at again before something is sent to it.

use domain::account::READER;
use std::time::Duration;

use domain::delivery::WebhookPatch;

use super::{
    scene::{LEASE, Scene},
    worker::Worker,
};
use crate::dispatch::{in_flight::ReadyDelivery, send::Attempted};

#[tokio::test]
async fn d9_begun_delivery_rechecks_disabled_webhook() {
    let scene = Scene::new().await;
    let webhook = scene.store.webhooks(READER).await.unwrap().remove(0);
    scene.store.test_webhook(READER, webhook.id).await.unwrap();
    let (worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let next = || worker.dispatcher.in_flight().next().unwrap();
    let order = [next(), next()];
    let disabled = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    scene.store.update_webhook(READER, webhook.id, disabled).await.unwrap();
    scene.pass(&[&worker], Duration::from_millis(100));
    for ready in order {
        let attempt = worker.dispatcher.attempt(ready.webhook, ready.job);
        // What is sent is never answered.
        let attempted = tokio::time::timeout(Duration::from_mins(3), attempt).await.expect("it was sent");
        assert!(matches!(attempted, Attempted::Unsent), "{attempted:?}");
    }
    assert_eq!(scene.network.sent_in_all(), 0);
}

/// A turn with a payload that is too large to come with its claim, sent while there is no memory for it; meanwhile
/// something happens, and then there is memory.
async fn attempt_that_waits(worker: &Worker, meanwhile: impl Future<Output = ()>) -> Attempted {
    let ReadyDelivery { webhook, mut job } = worker.dispatcher.in_flight().next().unwrap();
    (job.data, job.size) = (None, 1_000_000);
    let taken = worker.dispatcher.payload_memory.reserve(usize::MAX, false).await;
    let attempt = worker.dispatcher.attempt(webhook, job);
    // The first of the two is polled first: it waits for memory by then.
    let meanwhile = async {
        meanwhile.await;
        drop(taken);
    };
    let both = async { tokio::join!(biased; attempt, meanwhile).0 };
    tokio::time::timeout(Duration::from_mins(3), both).await.expect("it was sent")
}

#[tokio::test]
async fn d9_large_payload_is_not_sent_after_disabling() {
    let scene = Scene::new().await;
    let webhook = scene.store.webhooks(READER).await.unwrap().remove(0);
    let (worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let disabled = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    let attempted = attempt_that_waits(&worker, async {
        scene.store.update_webhook(READER, webhook.id, disabled).await.unwrap();
        scene.pass(&[&worker], Duration::from_millis(100));
    });
    assert!(matches!(attempted.await, Attempted::Unsent));
    assert_eq!(scene.network.sent_in_all(), 0);
}

#[tokio::test]
async fn d1_large_payload_goes_to_the_url_of_now() {
    let scene = Scene::new().await;
    let webhook = scene.store.webhooks(READER).await.unwrap().remove(0);
    let (worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let (other, to) = ("https://other.example/", |url: &str| scene.network.sent_to(url));
    let moved = WebhookPatch { url: Some(other.to_owned()), ..WebhookPatch::default() };
    let attempted = attempt_that_waits(&worker, async {
        scene.store.update_webhook(READER, webhook.id, moved).await.unwrap();
        scene.pass(&[&worker], Duration::from_millis(100));
    });
    let answered = async {
        while scene.network.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        scene.network.answer(0, Ok(200), None);
    };
    let (attempted, ()) = tokio::join!(attempted, answered);
    assert!(matches!(attempted, Attempted::Ended(outcome) if outcome.url == other));
    assert_eq!((to(other), to(&webhook.url)), (1, 0));
}

#[tokio::test]
async fn d6_large_payload_is_not_sent_after_lease_loss() {
    let scene = Scene::new().await;
    let (worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let (other, _) = scene.worker(2);
    let attempted = attempt_that_waits(&worker, async {
        scene.pass(&[&worker, &other], LEASE);
        assert_eq!(other.dispatcher.claim().await.unwrap().count, 1);
    });
    assert!(matches!(attempted.await, Attempted::Lost));
    assert_eq!(scene.network.sent_in_all(), 0);
}

#[tokio::test]
async fn d6_lease_lost_during_webhook_read_sends_nothing() {
    let scene = Scene::new().await;
    let (worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let (other, _) = scene.worker(2);
    // The webhook is to be looked at again, and the lease is good.
    scene.pass(&[&worker, &other], Duration::from_millis(100));
    let ReadyDelivery { webhook, job } = worker.dispatcher.in_flight().next().unwrap();
    let answers = scene.answers.lock().await;
    let attempt = worker.dispatcher.attempt(webhook, job);
    let meanwhile = async {
        scene.pass(&[&worker, &other], LEASE);
        assert_eq!(other.dispatcher.claim().await.unwrap().count, 1);
        drop(answers);
    };
    let both = async { tokio::join!(biased; attempt, meanwhile).0 };
    let attempted = tokio::time::timeout(Duration::from_mins(3), both).await.expect("it was sent");
    assert!(matches!(attempted, Attempted::Unsent), "{attempted:?}");
    assert_eq!(scene.network.sent_in_all(), 0);
}
