//! The real program killed with SIGKILL while it polls, again and again: afterwards every entry is there, once.

use std::{collections::HashSet, fmt::Write, time::Duration};

use reqwest::Method;
use testkit::{Page, Publisher, fresh_postgres};

use crate::{
    program::{run, stderr},
    server::{Data, Server},
};

const FEEDS: usize = 200;
const ENTRIES: usize = 50;
const KILLS: usize = 10;

/// How long the last refresh may take: feeds that a killed process held wait for its lease to run out.
const SETTLE_MAX: Duration = Duration::from_mins(5);

#[tokio::test(flavor = "multi_thread")]
async fn f4_sqlite_kills_while_polling_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    survive(Data::Folder(folder.path()), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_postgres_kills_while_polling_lose_nothing() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    survive(Data::Database(database.url(), folder.path()), 2).await;
}

async fn survive(data: Data<'_>, seed: u64) {
    let publisher = Publisher::start().await;
    let mut opml = String::from("<opml version='2.0'><body>");
    for feed in 0..FEEDS {
        publisher.set(&format!("/{feed}"), Page::body(document(feed)).etag("\"1\""));
        write!(opml, "<outline xmlUrl='{}'/>", publisher.url(&format!("/{feed}"))).unwrap();
    }
    opml += "</body></opml>";
    let flags = data.flags();
    let arguments: Vec<&str> =
        ["import", "-", "--no-wait"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let imported = run(&arguments, opml.as_bytes());
    assert!(imported.status.success(), "{}", stderr(&imported));

    let mut chance = seed;
    for _ in 0..KILLS {
        let server = Server::start(data, &["--host-concurrency", "8"]);
        // A few requests later, wherever that finds it.
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let requests = publisher.request_count() + usize::try_from(chance >> 60).unwrap();
        wait_until(SETTLE_MAX, || publisher.request_count() > requests || all_asked(&publisher)).await;
        tokio::time::sleep(Duration::from_millis(chance >> 58)).await;
        server.kill();
    }

    let server = Server::start(data, &["--host-concurrency", "8"]);
    let fetched = async || {
        let (status, summary) = server.call(Method::POST, "/api/refresh", None).await;
        assert_eq!(status, 200, "{summary}");
        server.get("/api/feeds").await.as_array().unwrap().iter().all(|feed| feed["lastFetchedAt"].is_string())
    };
    let end = tokio::time::Instant::now() + SETTLE_MAX;
    while !fetched().await {
        assert!(tokio::time::Instant::now() < end, "not all feeds were fetched: {}", server.log());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    check_entries(&server).await;
}

/// Exactly all entries: none twice, none missing, and the counts agree.
async fn check_entries(server: &Server) {
    let mut seen = HashSet::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("/api/entries?limit=500{cursor}")).await;
        for entry in page["entries"].as_array().unwrap() {
            assert!(seen.insert((entry["feedId"].to_string(), entry["guid"].to_string())), "twice: {entry}");
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), FEEDS * ENTRIES);
    assert_eq!(server.get("/api/counts").await["total"], FEEDS * ENTRIES);
}

fn all_asked(publisher: &Publisher) -> bool {
    publisher.request_count() >= FEEDS * 2
}

fn document(feed: usize) -> String {
    let items: String = (0..ENTRIES)
        .map(|entry| format!("<item><guid>{feed}-{entry}</guid><title>Entry {entry}</title><description>&lt;p&gt;Text {entry}&lt;/p&gt;</description></item>"))
        .collect();
    format!("<rss version='2.0'><channel><title>Feed {feed}</title>{items}</channel></rss>")
}

async fn wait_until(most: Duration, mut done: impl FnMut() -> bool) {
    let end = tokio::time::Instant::now() + most;
    while !done() && tokio::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
