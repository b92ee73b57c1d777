//! Feeds: added, listed, changed, removed.

use serde_json::{Value, json};

use crate::{
    server::answer,
    world::{World, fields, keys, rss},
};

/// The fields of a feed, in the specification's order, and those that PATCH sets.
const FEED: &str = "id url siteUrl title customTitle folderId lastFetchedAt nextCheckAt failureCount lastError isGone \
                    unreadCount pollInterval pushEnabled subscription hasCredentials iconId";

#[tokio::test]
async fn f1_a_feed_is_fetched_and_stored() {
    let world = World::start().await;
    let url = world.publish("/feed.xml", &rss("News", 3));
    let answer = world.add(&json!({ "url": url })).await;
    let feed = answer.ok(201);
    assert_eq!(keys(&feed), fields(FEED));
    assert_eq!(answer.header("location"), format!("/api/feeds/{}", feed["id"]));
    assert!(feed["id"].is_i64());
    assert_eq!(feed["url"], url);
    assert_eq!(feed["title"], "News");
    assert_eq!(feed["siteUrl"], "https://news.example/");
    assert_eq!(feed["unreadCount"], 3);
    assert_eq!(feed["failureCount"], 0);
    assert_eq!(feed["isGone"], false);
    for empty in ["customTitle", "folderId", "lastError", "subscription", "pollInterval"] {
        assert_eq!(feed[empty], Value::Null, "{empty}");
    }
    for time in ["lastFetchedAt", "nextCheckAt"] {
        assert!(feed[time].as_str().unwrap().ends_with('Z'), "{time}");
    }
    assert_eq!(world.get("/api/feeds").await, json!([feed]));
    assert_eq!(world.get(&format!("/api/feeds/{}", feed["id"])).await, feed);
}

#[tokio::test]
async fn f1_a_feed_goes_into_a_folder_under_a_title() {
    let world = World::start().await;
    let folder = world.send("POST", "/api/folders", &json!({"name": "Daily"})).await.ok(201);
    let url = world.publish("/feed.xml", &rss("News", 1));
    let feed = world.add(&json!({"url": url, "folderId": folder["id"], "title": "  Mine "})).await.ok(201);
    assert_eq!(feed["folderId"], folder["id"]);
    assert_eq!(feed["customTitle"], "Mine");
    assert_eq!(feed["title"], "News");
}

#[tokio::test]
async fn f1_a_page_is_searched_for_its_feed() {
    let world = World::start().await;
    let url = world.publish("/feed.xml", &rss("News", 1));
    let page = r#"<html><head><link rel="alternate" type="application/rss+xml" href="/feed.xml"></head></html>"#;
    let page = world.serve("/", 200, "text/html", page);
    let added = world.add(&json!({ "url": page })).await.ok(201);
    assert_eq!((&added["url"], &added["offered"]), (&json!(url), &json!([{ "url": url, "title": null }])));
}

#[tokio::test]
async fn f1_failed_add_has_status_and_stores_nothing() {
    let world = World::start().await;
    let page = world.serve("/page", 200, "text/html", "<html><body>no feed here</body></html>");
    let garbage = world.serve("/garbage", 200, "text/xml", "\u{1}\u{2} not a feed");
    let broken = world.serve("/broken", 500, "text/plain", "oops");
    let missing = world.publisher.url("/missing");
    for (body, status, names) in [
        (json!({"url": "news"}), 400, "`url`"),
        (json!({"url": "me@news.example"}), 400, "`url`"),
        (json!({"url": "127.0.0.1:1/feed"}), 502, "ECONNREFUSED"),
        (json!({"url": ""}), 400, "`url`"),
        (json!({"url": "ftp://news.example/feed"}), 400, "`url`"),
        (json!({"url": "javascript:alert(1)"}), 400, "`url`"),
        (json!({"url": world.publish("/not-guessed.xml", &rss("News", 1)), "folderId": 99}), 404, "`folderId`"),
        (json!({ "url": page }), 422, "feed"),
        (json!({ "url": garbage }), 422, "feed"),
        (json!({ "url": broken }), 502, "500"),
        (json!({ "url": missing }), 502, "404"),
        (json!({"url": "http://127.0.0.1:1/feed"}), 502, "ECONNREFUSED"),
        (json!({"url": "http://192.168.77.1/feed"}), 502, "192.168.77.1"),
    ] {
        let sentence = world.add(&body).await.error(status);
        assert!(sentence.contains(names), "{body}: {sentence}");
    }
    assert_eq!(world.get("/api/feeds").await, json!([]));
    assert_eq!(world.get("/api/entries").await["entries"], json!([]));
}

#[tokio::test]
async fn f1_a_feed_that_is_there_is_409_with_its_id() {
    let world = World::start().await;
    let url = world.publish("/feed.xml", &rss("News", 1));
    let feed = world.add(&json!({ "url": url })).await.ok(201);
    let again = world.add(&json!({ "url": format!("{url}#top") })).await;
    assert!(!again.error(409).is_empty());
    assert_eq!(again.json()["feedId"], feed["id"]);
    assert_eq!(keys(&again.json()), fields("error feedId"));
}

#[tokio::test]
async fn f1_a_password_is_used_and_shown_nowhere() {
    let world = World::start().await;
    let url = world.publish("/feed.xml", &rss("News", 1));
    let with_password = url.replace("http://", "http://ann:s3cret@");
    let added = world.add(&json!({ "url": with_password })).await;
    assert_eq!(added.ok(201)["url"], url);
    let asked = world.publisher.requests("/feed.xml");
    assert_eq!(asked.last().unwrap().header("authorization"), Some("Basic YW5uOnMzY3JldA=="));
    let export = world.server.get("/api/opml/export").await;
    for text in [added.text, world.get("/api/feeds").await.to_string(), export.text] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    let again = world.add(&json!({ "url": with_password })).await;
    assert!(!again.text.contains("s3cret"));
}

#[tokio::test]
async fn f6_feed_patch_changes_fields_and_null_clears() {
    let world = World::start().await;
    let folder = world.send("POST", "/api/folders", &json!({"name": "Daily"})).await.ok(201);
    let feed = world.added("/feed.xml", &rss("News", 1)).await;
    let path = format!("/api/feeds/{}", feed["id"]);
    let other = world.publish("/other.xml", &rss("Other", 1));
    for (patch, field, expected) in [
        (json!({"title": "Mine"}), "customTitle", json!("Mine")),
        (json!({}), "customTitle", json!("Mine")),
        (json!({"title": null}), "customTitle", Value::Null),
        (json!({"folderId": folder["id"]}), "folderId", folder["id"].clone()),
        (json!({"pollInterval": 60}), "folderId", folder["id"].clone()),
        (json!({"folderId": null}), "folderId", Value::Null),
        (json!({"pollInterval": 2_592_000}), "pollInterval", json!(2_592_000)),
        (json!({"pollInterval": null}), "pollInterval", Value::Null),
        (json!({"pushEnabled": false}), "pushEnabled", json!(false)),
        (json!({"url": other}), "url", json!(other)),
    ] {
        let patched = world.send("PATCH", &path, &patch).await.ok(200);
        assert_eq!(patched[field], expected, "{patch}");
        assert_eq!(keys(&patched), fields(FEED));
        assert_eq!(world.get(&path).await[field], expected, "{patch}");
    }
}

#[tokio::test]
async fn f1_stored_password_survives_url_as_shown() {
    let world = World::start().await;
    let url = world.publish("/feed.xml", &rss("News", 1));
    let secret = url.replace("http://", "http://me:geheim@");
    let added = world.add(&json!({ "url": secret })).await;
    assert!(!added.text.contains("geheim"), "{}", added.text);
    let feed = added.ok(201);
    assert_eq!((&feed["url"], &feed["hasCredentials"]), (&json!(url), &json!(true)));
    let path = format!("/api/feeds/{}", feed["id"]);
    let patched = world.send("PATCH", &path, &json!({"url": feed["url"], "title": "Mine"})).await.ok(200);
    assert_eq!(patched["hasCredentials"], true);
    assert_eq!(world.get("/api/feeds").await[0]["hasCredentials"], true);
    let patched = world.send("PATCH", &path, &json!({"url": "http://other.example/"})).await.ok(200);
    assert_eq!(patched["hasCredentials"], false);
}

#[tokio::test]
async fn f1_stored_password_is_taken_away_on_request() {
    let world = World::start().await;
    let url = world.publish("/feed.xml", &rss("News", 1));
    let feed = world.add(&json!({ "url": url.replace("http://", "http://me:geheim@") })).await.ok(201);
    let path = format!("/api/feeds/{}", feed["id"]);
    let both = json!({"url": url.replace("http://", "http://you:neu@"), "hasCredentials": false});
    assert!(world.send("PATCH", &path, &both).await.error(400).contains("`hasCredentials`"));
    let kept = world.send("PATCH", &path, &json!({"hasCredentials": true})).await.ok(200);
    assert_eq!(kept["hasCredentials"], true);
    let patched = world.send("PATCH", &path, &json!({"hasCredentials": false})).await.ok(200);
    assert_eq!((&patched["id"], &patched["url"]), (&feed["id"], &json!(url)));
    assert_eq!(patched["hasCredentials"], false);
    world.send("POST", &format!("{path}/refresh"), &json!({})).await.ok(200);
    let asked = world.publisher.requests("/feed.xml");
    let last = asked.last().expect("it was asked for");
    assert_eq!(last.header("authorization"), None);
}

#[tokio::test]
async fn f6_changes_that_cannot_be_made_change_nothing() {
    let world = World::start().await;
    let first = world.added("/a.xml", &rss("A", 1)).await;
    let second = world.added("/b.xml", &rss("B", 1)).await;
    let path = format!("/api/feeds/{}", second["id"]);
    let taken = world.send("PATCH", &path, &json!({"title": "New", "url": first["url"]})).await;
    taken.error(409);
    assert_eq!(taken.json()["feedId"], first["id"]);
    assert!(
        world.send("PATCH", &path, &json!({"title": "New", "folderId": 9})).await.error(404).contains("`folderId`")
    );
    assert_eq!(world.get(&path).await["customTitle"], Value::Null);
    world.send("PATCH", "/api/feeds/999", &json!({})).await.error(404);
}

#[tokio::test]
async fn f6_a_feed_is_removed_with_its_entries() {
    let world = World::start().await;
    let feed = world.added("/feed.xml", &rss("News", 2)).await;
    let path = format!("/api/feeds/{}", feed["id"]);
    let removed = world.server.call("DELETE", &path).await;
    assert_eq!((removed.status, removed.text.as_str()), (204, ""));
    assert_eq!(world.server.call("DELETE", &path).await.error(404), "there is no such feed");
    world.server.get(&path).await.error(404);
    assert_eq!(world.get("/api/entries").await["entries"], json!([]));
}

#[tokio::test]
async fn u6_a_store_that_answers_is_ready() {
    let world = World::start().await;
    assert_eq!(world.get("/readyz").await, json!({"status": "ready", "store": "SQLite"}));
    let head = answer(world.server.request("HEAD", "/api/feeds")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}
