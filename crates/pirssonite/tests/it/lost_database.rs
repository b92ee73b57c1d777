//! The real program on a PostgreSQL that goes away and comes back (requirements F5, U6).

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use testkit::{FreshPostgres, Gate, Line, LineState, Page, Publisher, fresh_postgres};

use crate::{
    program::Background,
    server::{Data, Place, Server, ask, client},
};

/// How long it may take until it is noticed that the database is back.
const BACK_MAX: Duration = Duration::from_mins(3);

fn document(entries: u32) -> String {
    let items: String =
        (1..=entries).map(|n| format!("<item><guid>{n}</guid><title>Entry {n}</title></item>")).collect();
    format!("<rss version='2.0'><channel><title>News</title>{items}</channel></rss>")
}

/// Cuts all connections to a database and lets none in, or lets them in again.
pub(crate) async fn allow(admin: &FreshPostgres, database: &FreshPostgres, is_allowed: bool) {
    let name = database.url().rsplit('/').next().unwrap().split('?').next().unwrap();
    let client = admin.client().await;
    client.batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {is_allowed}")).await.unwrap();
    if is_allowed {
        return;
    }
    // Whoever was let in just before is not to be seen there until it has begun, but holds a lock on the database until
    // it is: looked at in this order, nobody is missed.
    let beginning = format!(
        "SELECT count(*) FROM pg_locks WHERE classid = 'pg_database'::regclass AND objid =
         (SELECT oid FROM pg_database WHERE datname = '{name}')"
    );
    let cut = format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'");
    let mut empty_looks = 0;
    while empty_looks < 2 {
        let mut found = 0;
        for sql in [&beginning, &cut] {
            found += client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0);
        }
        empty_looks = if found == 0 { empty_looks + 1 } else { 0 };
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Looks until it is so.
async fn until(server: &Server, what: &str, is_so: impl AsyncFn() -> bool) {
    let end = tokio::time::Instant::now() + BACK_MAX;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < end, "not {what}: {}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn is_ready(server: &Server) -> bool {
    match server.call(Method::GET, "/readyz", None).await.0 {
        200 => true,
        503 => false,
        other => panic!("/readyz answers {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_u6_lost_database_is_survived_without_loss() {
    // Whoever shuts a database must not be in it: the second is the door to the first.
    let (database, admin, folder) = (fresh_postgres().await, fresh_postgres().await, tempfile::tempdir().unwrap());
    let publisher = Publisher::start().await;
    let server =
        Server::start(Data::Database(database.url(), folder.path()), &["--poll-min", "1s", "--poll-max", "1s"]);
    publisher.set("/feed", Page::body(document(1)).etag("\"1\""));
    let (status, feed) = server.call(Method::POST, "/api/feeds", Some(json!({ "url": publisher.url("/feed") }))).await;
    assert_eq!(status, 201, "{feed}");
    let entry = server.get("/api/entries").await["entries"][0]["id"].clone();

    // A poll is under way, with something new, when the database goes.
    let gate = Gate::default();
    publisher.set("/feed", Page::body(document(3)).etag("\"3\"").behind(&gate));
    let asked = publisher.requests("/feed").len();
    publisher.asked("/feed", asked + 1).await;
    allow(&admin, &database, false).await;
    until(&server, "away", async || !is_ready(&server).await).await;
    gate.open();
    assert_eq!(server.call(Method::GET, "/healthz", None).await.0, 200, "the process lives");
    let mark = Some(json!({ "isRead": true }));
    for (method, path, body) in [
        (Method::GET, "/api/feeds", None),
        (Method::GET, "/api/entries", None),
        (Method::PATCH, &*format!("/api/entries/{entry}"), mark),
        (Method::POST, "/api/folders", Some(json!({ "name": "Lost" }))),
        (Method::POST, "/api/refresh", None),
    ] {
        let (status, said) = server.call(method, path, body).await;
        assert_eq!((status, said["error"].is_string()), (503, true), "{path}: {said}");
    }
    let answer = client().get(format!("{}/api/feeds", server.url)).send().await.unwrap();
    assert!(answer.headers().contains_key("retry-after"));

    // It comes back, and everything goes on by itself.
    until(&server, "noticed", async || server.log().contains("polling waiting for store")).await;
    let asked = publisher.requests("/feed").len();
    allow(&admin, &database, true).await;
    until(&server, "ready", async || is_ready(&server).await).await;
    publisher.asked("/feed", asked + 2).await;
    let entries = server.get("/api/entries").await;
    let mut guids: Vec<_> = entries["entries"].as_array().unwrap().iter().map(|entry| entry["guid"].clone()).collect();
    guids.sort_by_key(ToString::to_string);
    assert_eq!(guids, [json!("1"), json!("2"), json!("3")], "each once: {}", server.log());
    assert_eq!(server.get("/api/counts").await["total"], 3, "what was answered with 503 was not done");
    assert_eq!(server.get("/api/folders").await, json!([]));
    assert!(server.log().contains("polling resumed"), "{}", server.log());
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_a_node_started_without_its_database_waits_for_it() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let (line, place) = (Line::to(database.url()).await, Place::reserve());
    line.set(LineState::Cut);
    let (url, data_dir, address) = (line.url().to_owned(), folder.path().to_owned(), place.address().to_string());
    let started = tokio::task::spawn_blocking(move || Server::start_on(&address, Data::Database(&url, &data_dir), &[]));
    line.refused_after(1).await;
    let health = ask(&place.url(), Method::GET, "/healthz", None).await;
    assert_eq!((health.0, &health.1["status"]), (200, &json!("starting")), "no watcher ends it");
    for (method, path) in [(Method::GET, "/readyz"), (Method::GET, "/"), (Method::POST, "/api/websub/callback/token")] {
        let (status, said) = ask(&place.url(), method, path, None).await;
        assert_eq!((status, said["error"].is_string()), (503, true), "{path}: {said}");
    }
    line.set(LineState::Up);
    let server = started.await.unwrap();
    assert!(server.log().contains("waiting for the database"), "{}", server.log());
    until(&server, "ready", async || is_ready(&server).await).await;
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_a_node_that_waits_for_its_database_ends_when_it_is_told_to() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let line = Line::to(database.url()).await;
    line.set(LineState::Cut);
    let ended = {
        let (url, folder) = (line.url().to_owned(), folder.path().to_owned());
        tokio::task::spawn_blocking(move || {
            let data = Data::Database(&url, &folder);
            let mut waiting = Background::start(data, &["serve", "--listen", "127.0.0.1:0"]);
            waiting.says("waiting for the database");
            waiting.interrupt();
            waiting.end()
        })
    };
    let (status, _, log) = ended.await.unwrap();
    assert!(status.success(), "it ended by itself, and not by the signal: {status} {log}");
    assert!(log.contains("stopped"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_a_change_that_meets_a_frozen_database_is_answered_503() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let line = Line::to(database.url()).await;
    let server = Server::start(Data::Database(line.url(), folder.path()), &[]);
    let folders = async |name: &str| {
        let change = server.call(Method::POST, "/api/folders", Some(json!({ "name": name })));
        tokio::time::timeout(BACK_MAX, change).await.expect("it is answered").0
    };
    assert_eq!(folders("before").await, 201);
    line.set(LineState::Silent);
    assert_eq!(folders("meanwhile").await, 503);
    assert!(!is_ready(&server).await);
    line.set(LineState::Up);
    until(&server, "back", async || folders("after").await == 201).await;
    assert!(is_ready(&server).await);
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
}
