//! Polling on demand.

use serde_json::{Value, json};
use testkit::{Gate, Page};

use crate::{
    server::answer,
    world::{World, fields, keys, rss},
};

const SUMMARY: &str = "polled fetched unchanged failed newEntries changedEntries";

#[tokio::test]
async fn f5_one_feed_is_polled_now() {
    let world = World::start().await;
    let feed = world.added("/feed.xml", &rss("News", 1)).await;
    let path = format!("/api/feeds/{}/refresh", feed["id"]);
    world.publish("/feed.xml", &rss("News", 3));
    let refreshed = world.server.call("POST", &path).await.ok(200);
    assert_eq!(refreshed["id"], feed["id"]);
    assert_eq!(refreshed["unreadCount"], 3);
    assert_eq!(keys(&refreshed["summary"]), fields(SUMMARY));
    assert_eq!((&refreshed["summary"]["polled"], &refreshed["summary"]["newEntries"]), (&json!(1), &json!(2)));
    assert_eq!(world.server.call("POST", "/api/feeds/999/refresh").await.error(404), "there is no such feed");
}

#[tokio::test]
async fn f5_failed_poll_shows_in_feed() {
    let world = World::start().await;
    let feed = world.added("/feed.xml", &rss("News", 1)).await;
    let path = format!("/api/feeds/{}/refresh", feed["id"]);
    world.serve("/feed.xml", 500, "text/plain", "oops");
    let failed = world.server.call("POST", &path).await.ok(200);
    assert_eq!((&failed["failureCount"], &failed["summary"]["failed"]), (&json!(1), &json!(1)));
    assert!(failed["lastError"].as_str().unwrap().contains("500"), "{failed}");
    assert_eq!(failed["unreadCount"], 1);
    world.publish("/feed.xml", &rss("News", 1));
    let mended = world.server.call("POST", &path).await.ok(200);
    assert_eq!((&mended["failureCount"], &mended["lastError"]), (&json!(0), &Value::Null));
}

#[tokio::test]
async fn f5_refresh_polls_only_due_feeds() {
    let world = World::start().await;
    world.added("/fresh.xml", &rss("Fresh", 1)).await;
    let nothing = world.server.call("POST", "/api/refresh").await.ok(200);
    assert_eq!(keys(&nothing), fields(SUMMARY));
    assert_eq!(nothing["polled"], 0);
    let (one, two) = (world.publish("/one.xml", &rss("One", 2)), world.publisher.url("/missing.xml"));
    let opml = format!(r#"<opml version="2.0"><body><outline xmlUrl="{one}"/><outline xmlUrl="{two}"/></body></opml>"#);
    world.import("text/x-opml", &opml).await.ok(200);
    let both = world.server.call("POST", "/api/refresh").await.ok(200);
    let expected = json!({
        "polled": 2, "fetched": 1, "unchanged": 0, "failed": 1, "newEntries": 2, "changedEntries": 0
    });
    assert_eq!(both, expected);
}

#[tokio::test]
async fn f5_running_poll_is_joined_and_outlives_client() {
    let world = World::start().await;
    let feed = world.added("/feed.xml", &rss("News", 1)).await;
    let path = format!("/api/feeds/{}/refresh", feed["id"]);
    let gate = Gate::default();
    // Whoever asks a second time gets nothing: what is new can only come of the first poll.
    world.publisher.set_all("/feed.xml", vec![Page::body(rss("News", 4)).behind(&gate), Page::status(500)]);
    let gone = tokio::spawn(answer(world.server.request("POST", &path)));
    world.publisher.asked("/feed.xml", 2).await;
    gone.abort();
    let joined = tokio::spawn(answer(world.server.request("POST", &path)));
    gate.open();
    assert_eq!(joined.await.unwrap().ok(200)["unreadCount"], 4);
}
