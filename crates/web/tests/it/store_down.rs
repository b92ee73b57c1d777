//! What clients see of a store that does not answer: 503 and when to come again, or 500; never what is inside.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;
use web::{ServeLimits, WebSettings};

use crate::{
    raw::{Client, LONG, PROBE},
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
    for path in ["/unread", "/search?q=x", "/login", "/pictures/x/y", "/feed-icons.css", "/metrics", "/nothing"] {
        assert!(server.get(path).await.error(503).contains("at once"), "{path}");
        let page = answer(server.request("GET", path).header("accept", "text/html")).await;
        assert_eq!((page.status, page.header("retry-after")), (503, "5"), "{path}: {page:?}");
        assert!(page.text.contains("<h1>Not now</h1>"), "{path}: {page:?}");
    }
    server.get("/healthz").await.ok(200);
    assert!(server.get("/readyz").await.error(503).contains("the store is not available"));
    for path in ["/assets/login.css", "/favicon.ico", "/robots.txt"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn u8_pages_keep_out_no_probe_and_no_hub() {
    // Nothing ends by itself before the test does.
    let settings = WebSettings { requests_max: 2, quick_timeout: LONG * 4, ..WebSettings::default() };
    let limits = ServeLimits { connections_max: 4, header_timeout: LONG * 4, ..ServeLimits::default() };
    let down = Arc::new(Down::Hangs(Arc::default()));
    let server = Server::start_within(down, Arc::new(NoNetwork), settings, limits).await;
    let mut readers = Vec::new();
    for path in ["/unread", "/search?q=x", "/entry/1", "/feed/1"].into_iter().cycle().take(12) {
        let mut client = Client::connect(&server.url).await;
        client.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        readers.push(client);
    }
    for (request, end, status) in [
        (PROBE, "}", "200 OK"),
        // What a hub pushes without a signature is refused without the store.
        ("POST /api/websub/callback HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "}", "403 Forbidden"),
    ] {
        let mut client = Client::connect(&server.url).await;
        client.send(request).await;
        let answer = client.until(end).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
    }
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
