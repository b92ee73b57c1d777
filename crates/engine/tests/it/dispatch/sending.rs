//! What is sent, and how it is signed.

use domain::account::READER;
use domain::delivery::{HeaderValue, PayloadEntry, WebhookPatch};
use serde_json::Value;

use super::setup::{each, quick};

#[tokio::test(flavor = "multi_thread")]
async fn d3_signature_verifies_with_public_library() {
    for setup in each(quick()).await {
        let webhook =
            setup.webhook_with("/a", |new| new.headers = vec![("X-Team".into(), HeaderValue::new("news"))]).await;
        let working = setup.work();
        setup.publish(1).await;
        let receipts = setup.receiver.receipts("/a").wait_for(1).await;
        let receipt = &receipts[0];
        assert!(receipt.is_signed_with(&webhook.secrets[0].expose()));
        assert_eq!(setup.receiver.receipts("/a").forged(), 0);
        assert!(receipt.is_keyed_by_event());
        assert_eq!((receipt.attempt(), receipt.header("x-team")), (Some(1), Some("news")));
        assert_eq!(receipt.header("content-type"), Some("application/json"));
        let payload: Value = serde_json::from_slice(receipt.body()).unwrap();
        assert_eq!(
            (payload["id"].as_str(), payload["type"].as_str()),
            (Some(receipt.event_id()), Some("entry.created"))
        );
        let shown = setup.world.entries(setup.feed_id()).await;
        let entry = serde_json::to_value(PayloadEntry::from(&shown[0])).unwrap();
        assert_eq!(payload["data"]["entry"], entry, "D2: as the API shows it");
        assert_eq!(payload["data"]["feed"]["title"], "News");
        setup.wait_delivered().await;
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_d2_payload_has_content_only_where_wanted() {
    for setup in each(quick()).await {
        setup.webhook("/whole").await;
        setup.webhook_with("/bare", |new| new.include_content = false).await;
        let working = setup.work();
        setup.publish(1).await;
        let body = async |path| {
            let receipts = setup.receiver.receipts(path).wait_for(1).await;
            serde_json::from_slice::<Value>(receipts[0].body()).unwrap()
        };
        let (mut whole, bare) = (body("/whole").await, body("/bare").await);
        let entry = whole["data"]["entry"].as_object_mut().unwrap();
        for field in ["content", "summary"] {
            assert!(bare["data"]["entry"].get(field).is_none(), "{bare}");
            assert!(entry.shift_remove(field).is_some(), "{entry:?}");
        }
        assert_eq!(whole, bare, "the same event, but for content and summary");
        assert_eq!(setup.receiver.receipts("/bare").forged(), 0, "what is sent is what is signed");
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_after_a_rotation_both_secrets_sign() {
    for setup in each(quick()).await {
        let old = setup.webhook("/a").await;
        let new = setup.world.engine.rotate_secret(READER, old.id).await.unwrap().unwrap();
        assert_eq!(new.secrets.len(), 2);
        let working = setup.work();
        setup.publish(1).await;
        let receipts = setup.receiver.receipts("/a").wait_for(1).await;
        for secret in [&old.secrets[0], &new.secrets[0]] {
            assert!(receipts[0].is_signed_with(&secret.expose()));
        }
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_test_event_reaches_its_webhook_only() {
    for setup in each(quick()).await {
        let tried = setup.webhook_with("/tried", |new| new.event_types = Some(vec![])).await;
        setup.webhook("/other").await;
        let working = setup.work();
        setup.world.store.test_webhook(READER, tried.id).await.unwrap();
        let receipts = setup.receiver.receipts("/tried").wait_for(1).await;
        let payload: Value = serde_json::from_slice(receipts[0].body()).unwrap();
        assert_eq!(payload["type"], "webhook.test");
        assert_eq!(payload["data"]["webhook"]["id"], tried.id.0);
        setup.wait_delivered().await;
        assert_eq!(setup.receiver.receipts("/other").count(), 0);
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_disabled_webhook_keeps_pending_deliveries() {
    for setup in each(quick()).await {
        let webhook = setup.webhook("/a").await;
        setup.publish(2).await;
        let enabled = |enabled| WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
        setup.world.store.update_webhook(READER, webhook.id, enabled(false)).await.unwrap().unwrap();
        let working = setup.work();
        setup.publish(3).await;
        setup.webhook("/b").await;
        setup.publish(1).await;
        setup.receiver.receipts("/b").wait_for(1).await;
        assert_eq!(setup.receiver.receipts("/a").count(), 0, "nothing is sent meanwhile");
        setup.world.store.update_webhook(READER, webhook.id, enabled(true)).await.unwrap().unwrap();
        setup.receiver.receipts("/a").wait_for(2).await;
        setup.wait_delivered().await;
        assert_eq!(setup.receiver.receipts("/a").count(), 2, "and nothing new came in");
        working.stop().await;
    }
}

/// A payload that is too large to come with its claim.
#[tokio::test(flavor = "multi_thread")]
async fn d2_a_large_payload_arrives_whole() {
    for setup in each(quick()).await {
        setup.webhook("/a").await;
        let working = setup.work();
        let text = "Long text. ".repeat(20_000);
        setup.publish_text(&text).await;
        let receipts = setup.receiver.receipts("/a").wait_for(1).await;
        assert!(receipts[0].body().len() > text.len());
        assert_eq!(setup.receiver.receipts("/a").forged(), 0);
        setup.wait_delivered().await;
        working.stop().await;
    }
}
