//! What bad input gets: a feed that fails keeps its entries, says why, and holds up nobody.

use domain::account::READER;
use std::{sync::Arc, time::Duration};

use domain::ports::{Store, StoreError};
use engine::EngineSettings;
use store::{PostgresOptions, PostgresStore};
use testkit::{Gate, Line, LineState, Page};

use crate::world::{self, engine_on, rss};

#[tokio::test]
async fn f4_failures_are_reported_and_cost_no_entry() {
    let settings = EngineSettings {
        // Only the one that hangs waits for it, and nobody else must run into it on a slow machine.
        fetch_timeout: Duration::from_secs(20),
        document_bytes_max: 200_000,
        host_concurrency: 16,
        ..world::settings()
    };
    let cases = [
        (
            "/page",
            Page::body("<html><body>Parked</body></html>"),
            "the server answered with a web page instead of the feed",
        ),
        ("/500", Page::body(rss(&[("9", "Nine")])).with_status(500), "the server answered 500 Internal Server Error"),
        ("/404", Page::status(404), "the server answered 404 Not Found"),
        ("/401", Page::status(401), "the server answered 401 Unauthorized; it wants a user and a password"),
        ("/garbage", Page::body([0xff, 0xfe, 0, 1, 2, 3]), "the server answered with something that is no feed"),
        ("/json", Page::body("{\"error\": 1}"), "the server answered with JSON that is no feed"),
        ("/empty", Page::body(""), "the server answered with nothing"),
        ("/endless", Page::endless("<item>".repeat(1000)), "the answer is larger than 195.3 KiB"),
        ("/hang", Page::hang(), "no whole answer came from HOST in time"),
        ("/reset", Page::reset(), "could not connect to HOST: ECONNRESET"),
        ("/cut", Page::break_off(rss(&[("9", "Nine")])), "the answer of HOST broke off"),
        ("/loop", Page::redirect(302, "/loop"), "the redirects of HOST lead nowhere"),
        ("/ftp", Page::redirect(301, "ftp://e.org/feed"), "HOST redirects to an address that is not http or https"),
        (
            "/broken-gzip",
            Page::body(rss(&[("9", "Nine")])).header("Content-Encoding", "gzip"),
            "the answer of HOST could not be decompressed",
        ),
        ("/private", Page::redirect(301, "http://192.168.1.1/"), "the address of 192.168.1.1 is not public"),
    ];
    for world in world::each_with(settings).await {
        let paths: Vec<&str> = cases.iter().map(|(path, ..)| *path).chain(["/good"]).collect();
        for path in &paths {
            world.publisher.set(path, Page::body(rss(&[("1", "One")])));
        }
        let ids = world.import(&paths).await;
        assert_eq!(world.engine.refresh_due().await.unwrap().new_entries, 16);
        for (path, page, _) in &cases {
            world.publisher.set(path, page.clone());
        }
        world.publisher.set("/good", Page::body(rss(&[("1", "One"), ("2", "Two")])));
        let refreshes = ids.iter().map(|id| world.refresh(*id));
        let summaries = futures_util::future::join_all(refreshes).await;
        assert_eq!(summaries.last().unwrap().new_entries, 1, "the good one is not held up");
        for (id, (path, _, expect)) in ids.iter().zip(&cases) {
            let feed = world.feed(*id).await;
            let error = feed.last_error.unwrap_or_default();
            let expect = expect.replace("HOST", &world.publisher.address().to_string());
            assert!(error.starts_with(&expect), "{path}: {error}");
            assert_eq!((feed.failure_count, feed.is_gone), (1, false), "{path}");
            assert_eq!(world.titles(*id).await, ["One"], "{path}");
        }
        // And it recovers as if nothing had been.
        world.publisher.set("/500", Page::body(rss(&[("1", "One")])));
        world.refresh(ids[1]).await;
        let feed = world.feed(ids[1]).await;
        assert_eq!((feed.failure_count, feed.last_error), (0, None));
    }
}

#[tokio::test]
async fn f4_lost_database_loses_no_result() {
    let database = testkit::fresh_postgres().await;
    let line = Line::to(database.url()).await;
    let store = PostgresStore::connect(line.url(), PostgresOptions { pool_size: 2, ..PostgresOptions::default() })
        .await
        .unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let engine = engine_on(Arc::clone(&store), world::settings());
    let publisher = testkit::Publisher::start().await;
    let gate = Gate::default();
    publisher.set("/feed", Page::body(rss(&[("1", "One")])).behind(&gate));
    let id = world::import(&store, &[publisher.url("/feed")]).await[0];
    let refresh = tokio::spawn(async move { engine.refresh_feed(READER, id).await });
    publisher.asked("/feed", 1).await;
    let before = line.set(LineState::Cut);
    let lost = store.feed(READER, id).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    gate.open();
    // The engine has failed to store the result.
    line.refused_after(before + 1).await;
    line.set(LineState::Up);
    assert_eq!(refresh.await.unwrap().unwrap().unwrap().new_entries, 1);
}
