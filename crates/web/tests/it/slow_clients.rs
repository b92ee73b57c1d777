//! U8: clients that send slowly, read slowly, or do neither: none holds a connection for ever, nor another one up.

use std::{sync::Arc, time::Duration};

use tokio::{io::AsyncWriteExt, sync::Notify};
use web::{ServeLimits, WebSettings};

use crate::{
    raw::{Client, LONG, PROBE},
    server::{Server, answer},
    stubs::{Down, NoNetwork},
    world::World,
};

/// Short enough to wait for, and longer than anything takes that is not waited for.
const SHORT: Duration = Duration::from_millis(300);

async fn server(down: Down, settings: WebSettings, limits: ServeLimits) -> Server {
    Server::start_within(Arc::new(down), Arc::new(NoNetwork), settings, limits).await
}

async fn within(limits: ServeLimits) -> Server {
    server(Down::Unavailable, WebSettings::default(), limits).await
}

#[tokio::test]
async fn u8_slow_headers_are_cut_off() {
    let server = within(ServeLimits { header_timeout: SHORT, ..ServeLimits::default() }).await;
    for sent in ["", "GET", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "] {
        let mut client = Client::connect(&server.url).await;
        client.send(sent).await;
        assert_eq!(client.rest().await, "", "{sent}");
    }
}

#[tokio::test]
async fn u8_trickled_headers_gain_no_time() {
    let server = within(ServeLimits { header_timeout: SHORT, ..ServeLimits::default() }).await;
    let mut client = Client::connect(&server.url).await;
    client.send("GET /healthz HTTP/1.1\r\nX-Slow: ").await;
    let trickle = async {
        let mut ticks = tokio::time::interval(SHORT / 10);
        loop {
            ticks.tick().await;
            if client.0.write_all(b"x").await.is_err() {
                return;
            }
        }
    };
    tokio::time::timeout(LONG, trickle).await.expect("the connection is never closed");
}

#[tokio::test]
async fn u8_endless_headers_take_bounded_memory() {
    let server = within(ServeLimits { header_timeout: LONG * 2, ..ServeLimits::default() }).await;
    let mut client = Client::connect(&server.url).await;
    let headers: String = (0..11).map(|number| format!("X-{number}: {}\r\n", "x".repeat(8000))).collect();
    client.send(&format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{headers}")).await;
    // The answer may be lost where something was still on its way.
    let answer = client.rest().await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    // The longest address that can be asked for is answered, with usual headers.
    let mut client = Client::connect(&server.url).await;
    let (query, headers) = ("x".repeat(65_000), format!("Cookie: {}\r\n", "x".repeat(8000)));
    client.send(&format!("GET /healthz?{query} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")).await;
    assert!(client.until("}").await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn u8_connection_is_kept_between_requests() {
    let server = within(ServeLimits { header_timeout: LONG * 2, ..ServeLimits::default() }).await;
    let mut client = Client::connect(&server.url).await;
    for _ in 0..3 {
        client.send(PROBE).await;
        assert!(client.until("}").await.starts_with("HTTP/1.1 200 OK\r\n"));
    }
}

#[tokio::test]
async fn u8_idle_connection_is_closed() {
    let server = within(ServeLimits { header_timeout: SHORT, ..ServeLimits::default() }).await;
    let mut client = Client::connect(&server.url).await;
    client.send(PROBE).await;
    // Without an answer, if the machine stood still before the request was read.
    let answer = client.rest().await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test]
async fn u8_header_timeout_does_not_bound_answers() {
    let asked = Arc::new(Notify::new());
    let settings = WebSettings { quick_timeout: SHORT * 3, ..WebSettings::default() };
    let limits = ServeLimits { header_timeout: SHORT, ..ServeLimits::default() };
    let server = server(Down::Hangs(Arc::clone(&asked)), settings, limits).await;
    let mut client = loop {
        let mut client = Client::connect(&server.url).await;
        client.send("GET /api/feeds HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        tokio::select! {
            () = asked.notified() => break client,
            // The machine stood still, and the request did not get as far as the store in time.
            _ = client.rest() => {}
        }
    };
    let answer = client.until("}").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("too long"), "{answer}");
}

#[tokio::test]
async fn u8_missing_body_is_408_and_closes() {
    let settings = WebSettings { json_timeout: SHORT, opml_timeout: SHORT, ..WebSettings::default() };
    let server = server(Down::Unavailable, settings, ServeLimits::default()).await;
    for (path, kind) in [("/api/folders", "application/json"), ("/api/opml/import", "text/x-opml")] {
        let mut client = Client::connect(&server.url).await;
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: 99\r\n");
        client.send(&format!("{head}\r\n{{")).await;
        let answer = client.rest().await;
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{path}: {answer}");
        assert!(answer.contains("connection: close\r\n"), "{path}: {answer}");
        assert!(answer.contains(r#"{"error":"the body did not come within"#), "{path}: {answer}");
    }
}

#[tokio::test]
async fn u8_client_that_reads_nothing_is_cut_off() {
    let server = within(ServeLimits { write_timeout: SHORT, ..ServeLimits::default() }).await;
    let mut client = Client::connect(&server.url).await;
    // Until all buffers between the two are full, and then until the connection is gone.
    let request = "GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let ask = async { while client.0.write_all(request.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(LONG, ask).await.expect("the connection is never closed");
}

#[tokio::test]
async fn u8_connections_are_bounded_and_busy_ones_kept() {
    let asked = Arc::new(Notify::new());
    let settings = WebSettings { quick_timeout: LONG * 2, ..WebSettings::default() };
    let limits = ServeLimits { connections_max: 2, header_timeout: LONG * 2, ..ServeLimits::default() };
    let server = server(Down::Hangs(asked.clone()), settings, limits).await;
    let mut at_work = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(&server.url).await;
        client.send("GET /api/feeds HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        asked.notified().await;
        at_work.push(client);
    }
    let mut three = Client::connect(&server.url).await;
    three.send(PROBE).await;
    assert!(tokio::time::timeout(SHORT, three.0.readable()).await.is_err(), "a third connection was taken");
    at_work.pop();
    assert!(three.until("}").await.starts_with("HTTP/1.1 200 OK\r\n"));
    // It is idle now, and gives way to another; the one at work does not.
    let mut four = Client::connect(&server.url).await;
    four.send(PROBE).await;
    assert!(four.until("}").await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(three.rest().await, "");
    assert!(tokio::time::timeout(SHORT, at_work[0].0.readable()).await.is_err(), "it was closed");
}

#[tokio::test]
async fn w5_u8_refused_body_is_drained_before_answer() {
    let server = within(ServeLimits { drain_timeout: LONG, ..ServeLimits::default() }).await;
    let token = "x".repeat(60_000);
    let body = "x".repeat(6 * 1024 * 1024);
    let large = "x".repeat(9 * 1024 * 1024);
    for (request, more, body, status) in [
        (format!("POST /api/websub/callback/{token}"), "", &body, "404 Not Found"),
        ("POST /api/websub/callback".to_owned(), "", &body, "403 Forbidden"),
        ("POST /api/websub/callback".to_owned(), "X-Hub-Signature: md5=00\r\n", &body, "400 Bad Request"),
        ("POST /api/websub/callback".to_owned(), "X-Hub-Signature: sha1=00\r\n", &large, "413 Payload Too Large"),
        ("POST /api/folders".to_owned(), "Content-Type: application/json\r\n", &large, "413 Payload Too Large"),
        ("POST /api/folders".to_owned(), "", &body, "415 Unsupported Media Type"),
        ("POST /api/feeds".to_owned(), "Origin: https://evil.example\r\n", &body, "403 Forbidden"),
        ("PUT /api/feeds".to_owned(), "", &body, "405 Method Not Allowed"),
        ("POST /api/nothing".to_owned(), "", &body, "404 Not Found"),
    ] {
        let mut client = Client::connect(&server.url).await;
        let length = body.len();
        client.send(&format!("{request} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {length}\r\n\r\n")).await;
        client.send(body).await;
        let answer = client.until("}").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{status}: {answer}");
        // All of it was read, so the connection serves for another request.
        client.send(PROBE).await;
        assert!(client.until("}").await.starts_with("HTTP/1.1 200 OK\r\n"), "{status}");
    }
}

#[tokio::test]
async fn w5_u8_refused_body_without_end_is_answered_and_closed() {
    let limits = ServeLimits { drain_bytes_max: 1024 * 1024, drain_timeout: LONG * 2, ..ServeLimits::default() };
    let server = within(limits).await;
    let (reader, mut writer) = Client::connect(&server.url).await.0.into_split();
    let sending = tokio::spawn(async move {
        let head = "POST /api/nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
        writer.write_all(head.as_bytes()).await.unwrap();
        let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
        while writer.write_all(chunk.as_bytes()).await.is_ok() {}
        writer
    });
    // Until nobody reads it any more.
    let writer = tokio::time::timeout(LONG, sending).await.expect("it is read without end").unwrap();
    let answer = Client(reader.reunite(writer).unwrap()).rest().await;
    assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n"), "{answer}");
}

#[tokio::test]
async fn w5_u8_refused_body_that_stops_is_answered_and_closed() {
    let limits = ServeLimits { drain_timeout: SHORT, header_timeout: LONG * 2, ..ServeLimits::default() };
    let server = within(limits).await;
    for body in ["Content-Length: 1000\r\n\r\nx", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"] {
        let mut client = Client::connect(&server.url).await;
        client.send(&format!("POST /api/nothing HTTP/1.1\r\nHost: localhost\r\n{body}")).await;
        let answer = client.rest().await;
        assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n"), "{body}: {answer}");
    }
}

#[tokio::test]
async fn w5_u8_refused_body_is_never_continued() {
    let server = within(ServeLimits::default()).await;
    for (path, status) in [("/api/websub/callback", "403 Forbidden"), ("/api/nothing", "404 Not Found")] {
        let mut client = Client::connect(&server.url).await;
        let head = "Host: localhost\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n";
        client.send(&format!("POST {path} HTTP/1.1\r\n{head}\r\n")).await;
        let answer = client.rest().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{path}: {answer}");
    }
}

#[tokio::test]
async fn u6_idle_connections_do_not_delay_shutdown() {
    let mut server = within(ServeLimits { shutdown_max: LONG * 2, ..ServeLimits::default() }).await;
    let (mut used, mut fresh) = (Client::connect(&server.url).await, Client::connect(&server.url).await);
    used.send(PROBE).await;
    used.until("}").await;
    server.stop.cancel();
    tokio::time::timeout(LONG, &mut server.task).await.expect("it does not end").unwrap().unwrap();
    assert_eq!((used.rest().await.as_str(), fresh.rest().await.as_str()), ("", ""));
}

#[tokio::test]
async fn u6_endless_requests_are_cut_off_at_shutdown() {
    let asked = Arc::new(Notify::new());
    let limits = ServeLimits { shutdown_max: SHORT, ..ServeLimits::default() };
    let mut server = server(Down::Hangs(asked.clone()), WebSettings::default(), limits).await;
    let under_way = tokio::spawn(server.request("GET", "/api/feeds").send());
    asked.notified().await;
    server.stop.cancel();
    tokio::time::timeout(LONG, &mut server.task).await.expect("it does not end").unwrap().unwrap();
    let cut_off = tokio::time::timeout(LONG, under_way).await.expect("the connection is never closed").unwrap();
    assert!(cut_off.is_err(), "{cut_off:?}");
}

const IMPORT: &str = "POST /api/opml/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/x-opml\r\n\
                      Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n";

#[tokio::test]
async fn f6_u8_slow_uploads_delay_no_import() {
    let world = World::start().await;
    let mut slow = Vec::new();
    // More than there are places for imports.
    for _ in 0..8 {
        let mut client = Client::connect(&world.server.url).await;
        client.send(IMPORT).await;
        // Says that the file is being read.
        client.until("HTTP/1.1 100 Continue\r\n\r\n").await;
        client.send("<opml>").await;
        slow.push(client);
    }
    let opml = r#"<opml version="2.0"><body><outline xmlUrl="http://e.example/feed"/></body></opml>"#;
    let import = tokio::time::timeout(LONG, world.import("text/x-opml", opml)).await;
    assert_eq!(import.expect("it waits for the slow ones").ok(200)["imported"], 1);
}

#[tokio::test]
async fn f6_u8_uploads_share_one_memory_budget() {
    let settings = WebSettings { opml_memory_bytes: 1024, ..WebSettings::default() };
    let server = server(Down::Unavailable, settings, ServeLimits::default()).await;
    let import = |bytes: usize| {
        let opml = format!(r#"<opml><body><outline xmlUrl="http://e.example/"/></body></opml>{}"#, " ".repeat(bytes));
        answer(server.request("POST", "/api/opml/import").body(opml))
    };
    for _ in 0..3 {
        assert!(import(2000).await.error(503).contains("too much is being sent at once"));
        // Nothing is left of what was refused, nor of what was taken.
        assert!(import(900).await.error(503).contains("the store is not available"));
    }
}

#[tokio::test]
async fn f6_u8_import_keeps_its_slot_without_client() {
    let asked = Arc::new(Notify::new());
    // Long enough to get as far as the store.
    let settings = WebSettings { long_timeout: SHORT * 10, ..WebSettings::default() };
    let server = server(Down::Hangs(asked.clone()), settings, ServeLimits::default()).await;
    let opml = r#"<opml version="2.0"><body><outline xmlUrl="http://e.example/feed"/></body></opml>"#;
    let import = || answer(server.request("POST", "/api/opml/import").body(opml));
    for _ in 0..2 {
        loop {
            let mut client = tokio::spawn(import());
            tokio::select! {
                () = asked.notified() => {
                    client.abort();
                    break;
                }
                // The machine stood still, and it did not get as far in time.
                _ = &mut client => {}
            }
        }
    }
    // Both places are taken by what those two began, so a third does not get as far as the store.
    import().await.error(503);
    assert!(tokio::time::timeout(Duration::ZERO, asked.notified()).await.is_err(), "a third import runs");
}
