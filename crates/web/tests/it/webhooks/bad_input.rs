//! What is wrong with the input is reported by field, and never reaches the store.

use std::sync::Arc;

use serde_json::json;
use web::WebSettings;

use crate::{
    server::Server,
    stubs::{Down, NoNetwork},
};

/// A server whose store would fail: only requests that never reach it are answered with anything but 503.
async fn server() -> Server {
    Server::start(Arc::new(Down::Unavailable), Arc::new(NoNetwork), WebSettings::default()).await
}

#[tokio::test]
async fn d1_bad_fields_are_400_and_name_the_field() {
    let server = server().await;
    // Too long also for one that is stored: nothing is looked up.
    let long_url = format!("https://r.example/{}", "x".repeat(6016));
    let many: serde_json::Map<_, _> = (0..21).map(|number| (format!("X-{number}"), json!("a"))).collect();
    for (field, value, names) in [
        ("url", json!("r.example/hook"), "not a URL: it does not begin with http"),
        ("url", json!(""), "not a URL"),
        ("url", json!("https://"), "not a URL: it names no host"),
        ("url", json!("ftp://r.example/"), "only http and https"),
        ("url", json!("feed://r.example/"), "only http and https"),
        ("url", json!("https://ann:s3cret@r.example/"), "`headers` can hold an `Authorization`"),
        ("url", json!("https://ann@r.example/"), "without a user"),
        ("url", json!("https://r.example/#top"), "without #"),
        ("url", json!(long_url), "longer than 2000 characters"),
        ("description", json!("x".repeat(501)), "longer than 500 characters"),
        (
            "eventTypes",
            json!(["entry.read"]),
            "there is no `entry.read`; there are entry.created, entry.updated, feed.failing",
        ),
        ("eventTypes", json!([""]), "there is no ``"),
        ("feedIds", json!(vec![1; 10_001]), "more than 10000"),
        ("folderIds", json!(vec![1; 10_001]), "more than 10000"),
        ("headers", json!({ "X A": "b" }), "`X A` can be no header's name"),
        ("headers", json!({ "": "b" }), "can be no header's name"),
        ("headers", json!({ "X-Ä": "b" }), "can be no header's name"),
        ("headers", json!({ "X-A": "hunter2\r\nHost: x" }), "the value of `X-A` must be one line"),
        ("headers", json!({ "X-A": "hunter2\u{0}" }), "the value of `X-A`"),
        ("headers", json!({ "X-A": "hunter2ä" }), "the value of `X-A`"),
        ("headers", json!({ "X-A": "1", "x-a": "2" }), "`x-a` is given more than once"),
        ("headers", json!({ "X-A": "x".repeat(4096) }), "more than 4096 bytes"),
        ("headers", json!(many), "more than 20"),
    ] {
        for (method, path) in [("POST", "/api/webhooks"), ("PATCH", "/api/webhooks/1")] {
            let mut body = json!({ "url": "https://r.example/" });
            body[field] = value.clone();
            let sentence = server.send(method, path, &body.to_string()).await.error(400);
            assert!(sentence.starts_with(&format!("`{field}`: ")) && sentence.contains(names), "{method}: {sentence}");
            assert!(!sentence.contains("s3cret") && !sentence.contains("hunter2"), "{sentence}");
        }
    }
}

#[tokio::test]
async fn d1_d3_reserved_headers_are_refused() {
    let server = server().await;
    let body = |name: &str| json!({ "url": "https://r.example/", "headers": { name: "x" } }).to_string();
    for name in [
        "Host",
        "content-length",
        "Content-Type",
        "Content-Encoding",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "User-Agent",
        "Idempotency-Key",
        "webhook-id",
        "Webhook-Signature",
        "webhook-anything",
        "Pirssonite-Attempt",
    ] {
        let sentence = server.send("POST", "/api/webhooks", &body(name)).await.error(400);
        assert_eq!(sentence, format!("`headers`: `{name}` is set by this server itself"));
    }
    for name in ["Authorization", "Cookie", "X-Api-Key", "webhooks", "Accept"] {
        server.send("POST", "/api/webhooks", &body(name)).await.error(503);
    }
}

#[tokio::test]
async fn d1_d10_bad_input_is_400_and_named() {
    let server = server().await;
    let long = "x".repeat(501);
    for (method, path, body, names) in [
        ("POST", "/api/webhooks", "{}", "`url`"),
        ("POST", "/api/webhooks", "[]", "JSON object"),
        ("POST", "/api/webhooks", r#"{"url": null}"#, "url: "),
        ("POST", "/api/webhooks", r#"{"url": "https://r.example/", "secret": "x"}"#, "unknown field `secret`"),
        ("POST", "/api/webhooks", r#"{"url": "https://r.example/", "enabled": "yes"}"#, "enabled: "),
        ("POST", "/api/webhooks", r#"{"url": "https://r.example/", "eventTypes": "feed.gone"}"#, "eventTypes: "),
        ("POST", "/api/webhooks", r#"{"url": "https://r.example/", "feedIds": ["x"]}"#, "feedIds[0]: "),
        ("POST", "/api/webhooks", r#"{"url": "https://r.example/", "headers": ["x"]}"#, "headers: "),
        ("POST", "/api/webhooks", r#"{"url": "https://r.example/", "headers": {"X-A": 1}}"#, "headers"),
        ("PATCH", "/api/webhooks/1", r#"{"consecutiveFailures": 0}"#, "unknown field `consecutiveFailures`"),
        ("PATCH", "/api/webhooks/x", "{}", "`id`"),
        ("GET", "/api/webhooks/x", "", "`id`"),
        ("DELETE", "/api/webhooks/x", "", "`id`"),
        ("POST", "/api/webhooks/x/test", "", "`id`"),
        ("POST", "/api/webhooks/1/test?now=1", "", "`now`"),
        ("POST", "/api/webhooks/1/replay", "{}", "`since`"),
        ("POST", "/api/webhooks/1/replay", r#"{"since": "yesterday"}"#, "`since`: expected a time with its zone"),
        ("POST", "/api/webhooks/1/replay", r#"{"since": "2024-01-01"}"#, "`since`: expected a time with its zone"),
        (
            "POST",
            "/api/webhooks/1/replay",
            r#"{"since": "2024-01-01T00:00:00Z", "until": "2024-01-02"}"#,
            "`until`: expected a time with its zone",
        ),
        ("POST", "/api/webhooks/1/replay", r#"{"since": "2024-01-01T00:00:00Z", "until": 1}"#, "until: "),
        ("POST", "/api/outbox/requeue", "{}", "`webhookId`"),
        ("POST", "/api/outbox/requeue", r#"{"webhookId": null}"#, "webhookId: "),
        ("POST", "/api/outbox/requeue?webhookId=1", r#"{"webhookId": 1}"#, "`webhookId`: no such parameter"),
        ("POST", "/api/outbox/deliveries/dlv_1/cancel", r#"{"why": "x"}"#, "unknown field `why`"),
        (
            "POST",
            "/api/outbox/deliveries/dlv_1/cancel",
            &format!(r#"{{"reason": "{long}"}}"#),
            "`reason`: longer than 500",
        ),
        (
            "GET",
            "/api/outbox/deliveries?status=open",
            "",
            "`status`: expected `pending`, `delivered`, `failed` or `cancelled`",
        ),
        ("GET", "/api/outbox/deliveries?webhookId=x", "", "`webhookId`: expected a whole number"),
        ("GET", "/api/outbox/deliveries?limit=0", "", "`limit`: expected a number from 1 to 500"),
        ("GET", "/api/outbox/deliveries?limit=501", "", "`limit`"),
        ("GET", "/api/outbox/deliveries?cursor=x", "", "`cursor`: expected the `nextCursor`"),
        ("GET", "/api/outbox/deliveries?cursor=dlv_%00", "", "`cursor`"),
        ("GET", "/api/outbox/deliveries?page=2", "", "`page`: no such parameter; there are `status`"),
    ] {
        let sentence = server.send(method, path, body).await.error(400);
        assert!(sentence.contains(names), "{method} {path} {body}: {sentence}");
    }
    let request = server.request("POST", "/api/outbox/deliveries/dlv_1/cancel").body("reason=x");
    crate::server::answer(request).await.error(415);
}
