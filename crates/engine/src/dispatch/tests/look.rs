//! A webhook is looked at again before something is sent to it.

use std::time::Duration;

use domain::delivery::WebhookPatch;

use super::scene::Scene;
use crate::dispatch::send::Attempted;

#[tokio::test]
async fn d9_a_turn_that_began_before_another_found_its_webhook_disabled_is_not_sent() {
    let scene = Scene::new().await;
    let webhook = scene.store.webhooks().await.unwrap().remove(0);
    scene.store.test_webhook(webhook.id).await.unwrap();
    let (worker, _) = scene.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let next = || worker.dispatcher.desk().next().unwrap();
    let turns = [next(), next()];
    let disabled = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    scene.store.update_webhook(webhook.id, disabled).await.unwrap();
    scene.pass(&[&worker], Duration::from_millis(100));
    for turn in turns {
        let attempt = worker.dispatcher.attempt(turn.webhook, turn.job);
        // What is sent is never answered.
        let attempted = tokio::time::timeout(Duration::from_mins(3), attempt).await.expect("it was sent");
        assert!(matches!(attempted, Attempted::Unsent), "{attempted:?}");
    }
    assert_eq!(scene.network.sent_in_all(), 0);
}
