//! What clients see of a store that does not answer: 503 and when to come again, or 500; never what is inside.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;
use web::{ServeLimits, WebSettings};

use crate::{
    server::{Server, answer},
    stubs::{Down, INTERNALS, NoNetwork},
};

/// Requests that reach the store, each as it should be.
const REQUESTS: [(&str, &str, &str); 34] = [
    ("GET", "/api/feeds", ""),
    ("GET", "/api/feeds/1", ""),
    ("PATCH", "/api/feeds/1", "{}"),
    ("DELETE", "/api/feeds/1", ""),
    ("GET", "/api/folders", ""),
    ("POST", "/api/folders", r#"{"name": "News"}"#),
    ("PATCH", "/api/folders/1", r#"{"name": "News"}"#),
    ("DELETE", "/api/folders/1", ""),
    ("PATCH", "/api/folders/reorder", r#"{"folderIds": []}"#),
    ("GET", "/api/entries", ""),
    ("GET", "/api/entries/1", ""),
    ("PATCH", "/api/entries/1", "{}"),
    ("POST", "/api/entries/mark-read", "{}"),
    ("GET", "/api/counts", ""),
    ("POST", "/api/feeds", r#"{"url": "http://e.example/"}"#),
    ("POST", "/api/feeds/1/refresh", ""),
    ("POST", "/api/refresh", ""),
    ("GET", "/api/opml/export", ""),
    ("GET", "/api/webhooks", ""),
    ("POST", "/api/webhooks", r#"{"url": "https://r.example/"}"#),
    ("GET", "/api/webhooks/1", ""),
    ("PATCH", "/api/webhooks/1", "{}"),
    ("DELETE", "/api/webhooks/1", ""),
    ("POST", "/api/webhooks/1/test", ""),
    ("POST", "/api/webhooks/1/rotate-secret", ""),
    ("POST", "/api/webhooks/1/replay", r#"{"since": "2024-01-01T00:00:00Z"}"#),
    ("GET", "/api/outbox/overview", ""),
    ("GET", "/api/outbox/deliveries", ""),
    ("GET", "/api/outbox/deliveries/dlv_1", ""),
    ("POST", "/api/outbox/deliveries/dlv_1/requeue", ""),
    ("POST", "/api/outbox/deliveries/dlv_1/cancel", "{}"),
    ("POST", "/api/outbox/requeue", r#"{"webhookId": 1}"#),
    ("GET", "/api/stats?metric=polls", ""),
    ("GET", "/readyz", ""),
];

const OPML: &str = r#"<opml version="2.0"><body><outline xmlUrl="http://e.example/feed"/></body></opml>"#;

async fn server(down: Down, settings: WebSettings) -> Server {
    Server::start(Arc::new(down), Arc::new(NoNetwork), settings).await
}

#[tokio::test]
async fn f6_u6_unavailable_store_is_503_with_retry_after() {
    let server = server(Down::Unavailable, WebSettings::default()).await;
    for (method, path, body) in REQUESTS {
        let answer = server.send(method, path, body).await;
        assert!(!answer.error(503).contains(INTERNALS), "{method} {path}");
        assert_eq!(answer.header("retry-after"), "5", "{method} {path}");
    }
    let import = answer(server.request("POST", "/api/opml/import").body(OPML)).await;
    assert!(!import.error(503).contains(INTERNALS));
    assert_eq!(import.header("retry-after"), "5");
    server.get("/healthz").await.ok(200);
}

#[tokio::test]
async fn f6_failing_store_is_500_without_internals() {
    for down in [Down::Failed, Down::Panic] {
        let server = server(down.clone(), WebSettings::default()).await;
        for (method, path, body) in REQUESTS.iter().filter(|(_, path, _)| *path != "/readyz") {
            let answer = server.send(method, path, body).await;
            assert!(!answer.error(500).contains(INTERNALS), "{down:?} {method} {path}");
            assert!(!answer.header("x-request-id").is_empty());
        }
    }
}

#[tokio::test]
async fn f6_a_request_that_hangs_ends_in_time() {
    let settings = WebSettings { quick_timeout: Duration::from_millis(50), ..WebSettings::default() };
    let server = server(Down::Hangs(Arc::default()), settings).await;
    assert!(server.get("/api/feeds").await.error(503).contains("too long"));
}

#[tokio::test]
async fn u8_requests_at_once_are_bounded_and_probes_pass() {
    let settings = WebSettings { requests_max: 0, ..WebSettings::default() };
    let server = server(Down::Unavailable, settings).await;
    assert!(server.get("/api/feeds").await.error(503).contains("at once"));
    server.get("/healthz").await.ok(200);
}

#[tokio::test]
async fn u8_searches_take_no_memory_of_pages() {
    let asked = Arc::new(Notify::new());
    // Memory for one of each kind.
    let settings = WebSettings { answer_memory_bytes: 0, slow_answer_memory_bytes: 0, ..WebSettings::default() };
    let server = server(Down::Hangs(asked.clone()), settings).await;
    let _searches = ["q=one", "q=two", "changedSince=2024-01-01T00:00:00Z&unread=true"]
        .map(|query| tokio::spawn(answer(server.request("GET", &format!("/api/entries?{query}")))));
    asked.notified().await;
    let _page = tokio::spawn(answer(server.request("GET", "/api/entries")));
    asked.notified().await;
}

#[tokio::test]
async fn u6_shutdown_finishes_running_requests() {
    let asked = Arc::new(Notify::new());
    // Long enough to get as far as the store.
    let settings = WebSettings { quick_timeout: Duration::from_secs(10), ..WebSettings::default() };
    let limits = ServeLimits { shutdown_max: Duration::from_mins(3), ..ServeLimits::default() };
    let mut server =
        Server::start_within(Arc::new(Down::Hangs(asked.clone())), Arc::new(NoNetwork), settings, limits).await;
    let under_way = tokio::spawn(answer(server.request("GET", "/api/feeds")));
    asked.notified().await;
    server.stop.cancel();
    under_way.await.unwrap().error(503);
    (&mut server.task).await.unwrap().unwrap();
    assert!(server.request("GET", "/healthz").send().await.is_err());
}
