//! What operators see: health, metrics, and one line in the log for each request.

use std::{
    io::Write,
    sync::{Arc, LazyLock, Mutex},
};

use serde_json::{Value, json};
use web::WebSettings;

use crate::{
    server::{Server, answer},
    stubs::{Down, INTERNALS, NoNetwork},
};

/// All that was logged by this process, a JSON object a line.
static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt().json().with_max_level(tracing::Level::DEBUG).with_writer(move || writer.clone()).init();
    log
});

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines that were logged for a request.
pub fn logged(id: &str) -> Vec<Value> {
    let lines = log().lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect::<Vec<_>>();
    lines.into_iter().filter(|line| line["span"]["id"] == id).collect()
}

/// All that was logged since this was first called, whatever for.
pub fn log() -> String {
    String::from_utf8(LOG.0.lock().unwrap().clone()).unwrap()
}

async fn server(down: Down) -> Server {
    LazyLock::force(&LOG);
    Server::start(Arc::new(down), Arc::new(NoNetwork), WebSettings::default()).await
}

#[tokio::test]
async fn u6_healthz_says_version() {
    let server = server(Down::Unavailable).await;
    let health = server.get("/healthz").await.ok(200);
    assert_eq!((&health["status"], &health["version"]), (&json!("ok"), &json!("1.2.3")));
    assert!(health["instance"].as_str().is_some_and(|instance| instance.len() == 24), "{health}");
    server.get("/readyz").await.error(503);
    assert_eq!(server.call("HEAD", "/healthz").await.status, 200);
}

#[tokio::test]
async fn u6_request_id_is_taken_or_made() {
    let server = server(Down::Unavailable).await;
    let given = answer(server.request("GET", "/healthz").header("x-request-id", "abc-1")).await;
    assert_eq!(given.header("x-request-id"), "abc-1");
    let (one, two) = (server.get("/healthz").await, server.get("/nothing").await);
    assert_ne!(one.header("x-request-id"), two.header("x-request-id"));
    for bad in ["with space", "", &"x".repeat(129)] {
        let answer = answer(server.request("GET", "/healthz").header("x-request-id", bad)).await;
        assert_ne!(answer.header("x-request-id"), bad);
        assert!(!answer.header("x-request-id").is_empty());
    }
}

#[tokio::test]
async fn u6_request_is_logged_once_without_query() {
    let server = server(Down::Unavailable).await;
    let request = server.request("GET", "/api/entries?q=secret&limit=0").header("x-request-id", "log-1");
    answer(request).await.error(400);
    let lines = logged("log-1");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["fields"]["status"], 400);
    assert!(lines[0]["fields"]["milliseconds"].is_u64());
    assert_eq!(lines[0]["span"]["method"], "GET");
    assert_eq!(lines[0]["span"]["path"], "/api/entries");
    assert!(!lines[0].to_string().contains("secret"));
}

#[tokio::test]
async fn u6_internal_errors_are_logged_with_request_id() {
    for (down, id) in [(Down::Failed, "log-2"), (Down::Panic, "log-3"), (Down::Unavailable, "log-4")] {
        let server = server(down).await;
        answer(server.request("GET", "/api/feeds").header("x-request-id", id)).await;
        let lines = logged(id);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0]["fields"]["reason"].as_str().unwrap().contains(INTERNALS));
    }
}

#[tokio::test]
async fn u6_requests_are_counted_by_route() {
    let server = server(Down::Unavailable).await;
    server.get("/api/feeds/77001").await;
    server.get("/api/made-up-77002").await;
    server.call("MADEUP", "/api/feeds").await;
    let metrics = server.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.header("content-type").starts_with("text/plain; version=0.0.4"));
    for line in [
        r#"http_requests_total{method="GET",path="/api/feeds/{id}",status="503"}"#,
        r#"http_requests_total{method="GET",path="unmatched",status="404"}"#,
        r#"http_requests_total{method="other",path="/api/feeds",status="405"}"#,
        r#"http_request_duration_seconds_bucket{method="GET",path="/api/feeds/{id}",le="0.001"}"#,
        "# TYPE http_request_duration_seconds histogram",
    ] {
        assert!(metrics.text.contains(line), "{line}\n{}", metrics.text);
    }
    // Names and labels: a number that was measured may have any digits in it.
    let names = metrics.text.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0));
    let names = names.collect::<Vec<_>>().join("\n");
    assert!(names.contains(r#"path="/api/feeds/{id}""#), "{names}");
    for made_up in ["77001", "77002", "MADEUP"] {
        assert!(!names.contains(made_up), "{made_up}\n{names}");
    }
}
