//! U8: what strangers send to the doors of apps, and to the login: little of it is read, and less is kept.

use std::sync::Arc;

use web::{ServeLimits, WebSettings};

use crate::{
    raw::{Client, LONG},
    server::{Server, answer},
    stubs::{Down, NoNetwork},
};

/// Without a password, so that whoever is on this machine has the session `open`.
async fn server(settings: WebSettings) -> Server {
    let http = Arc::new(NoNetwork);
    Server::start_within(Arc::new(Down::Unavailable), http, settings, ServeLimits::default()).await
}

fn head(target: &str, headers: &str, bytes: usize) -> String {
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    format!("POST {target} HTTP/1.1\r\nHost: localhost\r\n{form}{headers}Content-Length: {bytes}\r\n\r\n")
}

#[tokio::test]
async fn u8_s1_apps_are_known_before_their_bodies_are_read() {
    const LARGE: usize = 1024 * 1024;
    let server = server(WebSettings::default()).await;
    let edit = "/reader/api/0/edit-tag";
    let wrong = "Authorization: GoogleLogin auth=wrong\r\n";
    let open = "Authorization: GoogleLogin auth=open\r\n";
    for (target, headers, bytes, status) in [
        (edit, wrong, LARGE, "401 Unauthorized"),
        ("/api/greader.php/reader/api/0/edit-tag?T=wrong", "", LARGE, "401 Unauthorized"),
        ("/reader/api/0/stream/contents/feed%2F1", wrong, LARGE, "401 Unauthorized"),
        (edit, open, LARGE, "100 Continue"),
        ("/reader/api/0/edit-tag?T=open", "", LARGE, "100 Continue"),
        // Whoever is known by the body alone.
        (edit, "", 64 * 1024, "100 Continue"),
        (edit, "", 64 * 1024 + 1, "413 Payload Too Large"),
        ("/fever/", "", 64 * 1024 + 1, "413 Payload Too Large"),
        ("/v1/feeds", "X-Auth-Token: wrong\r\n", LARGE, "401 Unauthorized"),
        ("/accounts/ClientLogin", "", 16 * 1024, "100 Continue"),
        ("/accounts/ClientLogin", "", 16 * 1024 + 1, "413 Payload Too Large"),
        ("/accounts/ClientLogin", open, 16 * 1024 + 1, "413 Payload Too Large"),
        ("/login", "", 16 * 1024 + 1, "413 Payload Too Large"),
    ] {
        let mut client = Client::connect(&server.url).await;
        client.send(&head(target, &format!("{headers}Expect: 100-continue\r\n"), bytes)).await;
        assert_eq!(client.until("\r\n").await, format!("HTTP/1.1 {status}\r\n"), "{target} {headers} {bytes}");
    }
    let login = format!(r#"{{"name": "reader", "password": "{}"}}"#, "x".repeat(16 * 1024));
    assert!(server.send("POST", "/api/session", &login).await.error(413).contains("16384 bytes"));
}

#[tokio::test]
async fn u8_s1_s2_bodies_of_unknown_apps_share_one_memory_budget() {
    let settings = WebSettings { stranger_memory_bytes: 64 * 1024, json_timeout: LONG * 2, ..WebSettings::default() };
    for target in ["/reader/api/0/edit-tag", "/fever/"] {
        let server = server(settings.clone()).await;
        let mut stranger = Client::connect(&server.url).await;
        stranger.send(&(head(target, "", 61_000) + &"x".repeat(60_000))).await;
        let send = async |target: &str, session: &str| {
            let request = server.request("POST", target).header("content-type", "application/x-www-form-urlencoded");
            let request = request.header("authorization", format!("{session} auth=open"));
            answer(request.body("x".repeat(16_000))).await
        };
        // Once it has come, no other of its kind is taken.
        let mut count = 0;
        while send(target, "none").await.status != 503 {
            assert!(count < 500, "the limit is not reached");
            count += 1;
        }
        // Whoever is known takes no memory of strangers, and neither does a login.
        assert_eq!(send("/reader/api/0/edit-tag", "GoogleLogin").await.text, "OK");
        assert_eq!(send("/accounts/ClientLogin", "none").await.status, 401);
    }
}
