//! What is asked of a webhook: a test, another secret, what happened once more.

use domain::account::READER;
use std::time::Duration;

use domain::delivery::Verdict;
use serde_json::json;

use super::world::{DELIVERY, WEBHOOK, each};
use crate::world::{fields, keys};

#[tokio::test]
async fn d1_test_is_queued_whatever_is_wanted() {
    for world in each().await {
        let webhook = world.webhook(json!({ "eventTypes": [], "feedIds": [] })).await;
        let other = world.webhook(json!({})).await;
        let path = format!("/api/webhooks/{}/test", webhook["id"]);
        let queued = world.server.call("POST", &path).await.ok(202);
        assert_eq!(keys(&queued), fields(DELIVERY));
        for (field, expect) in [
            ("eventType", json!("webhook.test")),
            ("webhookId", webhook["id"].clone()),
            ("deliveryStatus", json!("pending")),
            ("attempts", json!(0)),
            ("maxAttempts", json!(16)),
            ("deliveredAt", json!(null)),
            ("reason", json!(null)),
        ] {
            assert_eq!(queued[field], expect, "{field}");
        }
        let theirs = world.get(&format!("/api/outbox/deliveries?webhookId={}", other["id"])).await;
        assert_eq!(theirs["events"], json!([]));
        world.send("PATCH", &format!("/api/webhooks/{}", webhook["id"]), &json!({ "enabled": false })).await.ok(200);
        assert!(world.server.call("POST", &path).await.error(409).contains("disabled"));
        assert_eq!(world.server.call("POST", "/api/webhooks/999/test").await.error(404), "there is no such webhook");
    }
}

#[tokio::test]
async fn d9_held_webhook_says_until_when() {
    for world in each().await {
        let webhook = world.webhook(json!({})).await;
        assert_eq!(webhook["heldUntil"], json!(null));
        world.test(&webhook).await;
        world.end(Verdict::Retry(Duration::from_hours(1)), Some(503)).await;
        let path = format!("/api/webhooks/{}", webhook["id"]);
        let held = world.get(&path).await;
        let until: jiff::Timestamp = held["heldUntil"].as_str().unwrap().parse().unwrap();
        let created: jiff::Timestamp = held["createdAt"].as_str().unwrap().parse().unwrap();
        assert!(until.duration_since(created) >= jiff::SignedDuration::from_hours(1), "{held}");
        world.test(&webhook).await;
        assert_eq!(world.end(Verdict::Delivered, Some(200)).await, 0, "it waits");
        assert_eq!(world.get(&path).await["heldUntil"], held["heldUntil"]);
        let enabled = world.send("PATCH", &path, &json!({ "enabled": true })).await.ok(200);
        assert_eq!(enabled["heldUntil"], held["heldUntil"], "enabling one that is enabled changes nothing");
    }
}

#[tokio::test]
async fn d1_rotated_secret_is_shown_once() {
    for world in each().await {
        let webhook = world.webhook(json!({})).await;
        let path = format!("/api/webhooks/{}", webhook["id"]);
        let answer = world.server.call("POST", &format!("{path}/rotate-secret")).await;
        let rotated = answer.ok(200);
        assert_eq!(keys(&rotated), fields(&format!("{WEBHOOK} secret")));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_ne!(rotated["secret"], webhook["secret"]);
        let kept = world.store.webhooks(READER).await.unwrap().remove(0).secrets;
        let kept: Vec<_> = kept.iter().map(|secret| json!(secret.expose())).collect();
        assert_eq!(kept, [rotated["secret"].clone(), webhook["secret"].clone()]);
        assert!(!world.server.get(&path).await.text.contains("whsec_"));
        world.server.call("POST", "/api/webhooks/999/rotate-secret").await.error(404);
    }
}

#[tokio::test]
async fn d1_replay_ends_at_until() {
    for world in each().await {
        let webhook = world.webhook(json!({ "backlog": true })).await;
        world.feed("/feed", 3).await;
        assert_eq!(world.end(Verdict::Delivered, Some(200)).await, 3);
        let path = format!("/api/webhooks/{}/replay", webhook["id"]);
        let replay = async |since: &str, until: serde_json::Value| {
            world.send("POST", &path, &json!({ "since": since, "until": until })).await
        };
        let delivered = world.get("/api/outbox/deliveries").await;
        let happened: jiff::Timestamp = delivered["events"][0]["createdAt"].as_str().unwrap().parse().unwrap();
        let just_before = happened - jiff::SignedDuration::from_millis(1);
        for (until, queued) in [(json!(just_before), 0), (json!(happened), 3), (json!(null), 3)] {
            assert_eq!(replay("2020-01-01T00:00:00Z", until.clone()).await.ok(202)["queued"], queued, "{until}");
            assert_eq!(world.end(Verdict::Delivered, Some(200)).await, queued, "{until}");
        }
        let backwards = replay("2020-01-02T00:00:00Z", json!("2020-01-01T00:00:00Z")).await;
        assert_eq!(backwards.error(409), "`until`: this time is before `since`");
    }
}

#[tokio::test]
async fn d1_replay_queues_past_events() {
    for world in each().await {
        let webhook = world.webhook(json!({ "backlog": true })).await;
        world.feed("/feed", 3).await;
        assert_eq!(world.end(Verdict::Delivered, Some(200)).await, 3);
        let path = format!("/api/webhooks/{}/replay", webhook["id"]);
        let since = |since: &str| json!({ "since": since });
        assert_eq!(world.send("POST", &path, &since("2020-01-01T00:00:00Z")).await.ok(202), json!({ "queued": 3 }));
        // What is pending already stays as it is.
        assert_eq!(world.send("POST", &path, &since("2020-01-01T00:00:00+02:00")).await.ok(202)["queued"], 0);
        assert_eq!(world.end(Verdict::Delivered, Some(200)).await, 3);
        let future = "`since`: this time is yet to come";
        for later in ["2999-01-01T00:00:00Z", "9999-12-31T23:59:59Z"] {
            assert_eq!(world.send("POST", &path, &since(later)).await.error(409), future);
        }
        world.send("PATCH", &format!("/api/webhooks/{}", webhook["id"]), &json!({ "enabled": false })).await.ok(200);
        let disabled = world.send("POST", &path, &since("2020-01-01T00:00:00Z")).await;
        assert_eq!(disabled.error(409), "this webhook is disabled: enable it first");
        let missing = world.send("POST", "/api/webhooks/999/replay", &since("2020-01-01T00:00:00Z")).await;
        assert_eq!(missing.error(404), "there is no such webhook");
    }
}
