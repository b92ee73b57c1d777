//! What apps change: marks, subscriptions, folders. The same change twice changes nothing twice.

use serde_json::{Value, json};

use super::{App, READ, READING_LIST, STARRED};
use crate::{apps::Reader, server::answer, world::rss};

#[tokio::test]
async fn s1_edit_tag_marks_by_ids_of_every_form() {
    for reader in Reader::each().await {
        reader.filled().await;
        for app in [App::with_token(&reader).await, App::with_password(&reader).await] {
            let state = async |title: &str| {
                let entry = reader.entry(title).await;
                (entry["isRead"].as_bool().unwrap(), entry["isStarred"].as_bool().unwrap())
            };
            let (one, two) = (app.id("Alpha 1").await, app.id("Alpha 2").await);
            app.change("edit-tag", &[("i", &one), ("a", READ), ("ac", "edit-tags"), ("async", "true")]).await;
            assert_eq!(state("Alpha 1").await, (true, false));
            let kept = "user/-/state/com.google/kept-unread";
            app.change("edit-tag", &[("i", &one), ("i", &two), ("a", kept), ("r", READ)]).await;
            assert_eq!((state("Alpha 1").await, state("Alpha 2").await), ((false, false), (false, false)));
            let decimal = reader.entry("Alpha 1").await["id"].to_string();
            app.change("edit-tag", &[("i", &decimal), ("a", "user/1/state/com.google/starred"), ("a", READ)]).await;
            assert_eq!(state("Alpha 1").await, (true, true));
            app.change("edit-tag", &[("i", &one[one.len() - 16..]), ("r", STARRED), ("r", READ)]).await;
            assert_eq!(state("Alpha 1").await, (false, false));
            for ignored in ["kept-unread", "tracking-kept-unread", "broadcast", "like", "fresh", "other"] {
                app.change("edit-tag", &[("i", &one), ("a", &format!("user/-/state/com.google/{ignored}"))]).await;
                app.change("edit-tag", &[("i", &one), ("r", &format!("user/-/state/com.google/{ignored}"))]).await;
            }
            assert_eq!(state("Alpha 1").await, (false, false));
            // All of it in the query, unescaped.
            let path = format!("{}/reader/api/0/edit-tag?i={one}&a={READ}", app.base);
            let request = reader.server.request("POST", &path);
            let request = request.header("authorization", format!("GoogleLogin auth={}", app.auth));
            assert_eq!(answer(request).await.text, "OK");
            assert_eq!(state("Alpha 1").await, (true, false));
            app.change("edit-tag", &[("i", &one), ("r", READ)]).await;
            app.change("edit-tag", &[("i", "nonsense"), ("i", "424242"), ("a", READ)]).await;
            app.change("edit-tag", &[("i", &two), ("a", READ)]).await;
        }
        assert_eq!(reader.get("/api/counts").await["total"], 5);
    }
}

#[tokio::test]
async fn s1_a_compressed_change_is_refused_and_not_taken_for_none() {
    for reader in Reader::each().await {
        reader.filled().await;
        let app = App::with_token(&reader).await;
        let refused = async |path: &str| {
            let request = reader.server.request("POST", path).header("content-encoding", "gzip");
            let request = request.header("authorization", format!("GoogleLogin auth={}", app.auth));
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            answer(request.body(&b"\x1f\x8b\x08 not read"[..])).await.status
        };
        assert_eq!(refused("/reader/api/0/edit-tag").await, 415);
        assert_eq!(refused("/accounts/ClientLogin").await, 415);
        assert_eq!(reader.get("/api/counts").await["total"], 5);
    }
}

#[tokio::test]
async fn s1_a_label_without_items_makes_a_folder() {
    for reader in Reader::each().await {
        let app = App::with_token(&reader).await;
        for _ in 0..2 {
            app.change("edit-tag", &[("a", "user/-/label/Made here")]).await;
        }
        // Ids that mean nothing are items nevertheless.
        app.change("edit-tag", &[("i", "nonsense"), ("a", "user/-/label/Not made")]).await;
        let folders = reader.get("/api/folders").await;
        assert_eq!((folders.as_array().unwrap().len(), &folders[0]["name"]), (1, &json!("Made here")));
    }
}

#[tokio::test]
async fn s1_streams_are_marked_until_a_time_of_receipt() {
    for reader in Reader::each().await {
        let (alpha, beta) = reader.filled().await;
        let app = App::with_token(&reader).await;
        let unread = async || reader.get("/api/counts").await["total"].as_u64().unwrap();
        let yesterday = "1600000000000000";
        app.change("mark-all-as-read", &[("s", READING_LIST), ("ts", yesterday)]).await;
        app.change("mark-all-as-read", &[("s", READING_LIST), ("ts", "1600000000")]).await;
        app.change("mark-all-as-read", &[("s", "feed/999")]).await;
        app.change("mark-all-as-read", &[("s", "user/-/label/None")]).await;
        app.change("mark-all-as-read", &[("s", READ)]).await;
        assert_eq!(unread().await, 5);
        app.change("mark-all-as-read", &[("s", STARRED), ("ts", yesterday)]).await;
        assert_eq!(unread().await, 5);
        app.change("mark-all-as-read", &[("s", STARRED)]).await;
        assert_eq!(unread().await, 4);
        app.change("mark-all-as-read", &[("s", &format!("feed/{beta}")), ("ts", "4102444800000000")]).await;
        assert_eq!(unread().await, 2);
        app.change("mark-all-as-read", &[("s", "user/-/label/News")]).await;
        assert_eq!(unread().await, 0);
        let ids = app.json("stream/items/ids", &[("s", &format!("feed/{alpha}"))]).await;
        for item in ids["itemRefs"].as_array().unwrap() {
            app.change("edit-tag", &[("i", item["id"].as_str().unwrap()), ("r", READ)]).await;
        }
        assert_eq!(unread().await, 3);
        let by_url = format!("feed/{}", reader.publisher.url("/alpha.xml"));
        app.change("mark-all-as-read", &[("s", &by_url), ("T", &app.auth)]).await;
        assert_eq!(unread().await, 0);
    }
}

#[tokio::test]
async fn s1_feeds_are_followed_renamed_moved_and_left() {
    for reader in Reader::each().await {
        let app = App::with_token(&reader).await;
        let url = reader.publish("/gamma.xml", &rss("Gamma", 1));
        let by_url = format!("feed/{url}");
        let feed = async || {
            let feeds = reader.get("/api/feeds").await;
            feeds.as_array().unwrap().first().cloned().unwrap_or(Value::Null)
        };
        let folder = async || {
            let (folders, id) = (reader.get("/api/folders").await, feed().await["folderId"].clone());
            let folders = folders.as_array().unwrap();
            folders.iter().find(|folder| folder["id"] == id).map(|folder| folder["name"].as_str().unwrap().to_owned())
        };
        for _ in 0..2 {
            let form = [("ac", "subscribe"), ("s", &*by_url), ("t", "Mine"), ("a", "user/-/label/Fresh")];
            app.change("subscription/edit", &form).await;
            assert_eq!((&feed().await["customTitle"], folder().await.as_deref()), (&json!("Mine"), Some("Fresh")));
        }
        let stream = format!("feed/{}", feed().await["id"]);
        app.change("subscription/edit", &[("ac", "edit"), ("s", &stream), ("t", "Other")]).await;
        assert_eq!((&feed().await["customTitle"], folder().await.as_deref()), (&json!("Other"), Some("Fresh")));
        let moved = [("ac", "edit"), ("s", &*stream), ("a", "user/-/label/News"), ("r", "user/-/label/Fresh")];
        app.change("subscription/edit", &moved).await;
        assert_eq!(folder().await.as_deref(), Some("News"));
        for other in ["user/-/label/Fresh", "user/-/label/None"] {
            app.change("subscription/edit", &[("ac", "edit"), ("s", &stream), ("r", other)]).await;
            assert_eq!(folder().await.as_deref(), Some("News"), "it was not in {other}");
        }
        app.change("rename-tag", &[("s", "user/-/label/News"), ("dest", "user/-/label/Newest")]).await;
        assert_eq!(folder().await.as_deref(), Some("Newest"));
        app.change("subscription/edit", &[("ac", "edit"), ("s", &by_url), ("r", "user/-/label/Newest")]).await;
        assert_eq!(folder().await, None);
        app.change("disable-tag", &[("s", "user/-/label/Newest")]).await;
        app.change("disable-tag", &[("t", "Fresh")]).await;
        assert_eq!(reader.get("/api/folders").await, json!([]));
        // As RSS Guard does it: all in the query.
        let path = format!("/reader/api/0/subscription/edit?ac=unsubscribe&s=feed%2F{}", feed().await["id"]);
        let request = reader.server.request("POST", &path);
        let left = answer(request.header("authorization", format!("GoogleLogin auth={}", app.auth))).await;
        assert_eq!(left.text, "OK");
        assert_eq!(feed().await, Value::Null);
    }
}

#[tokio::test]
async fn s1_quickadd_says_what_it_added() {
    for reader in Reader::each().await {
        let app = App::with_token(&reader).await;
        let url = reader.publish("/delta.xml", &rss("Delta", 1));
        let mut streams = Vec::new();
        for form in [vec![("quickadd", url.as_str())], vec![("quickadd", &url), ("output", "json")]] {
            let query = super::url_encoded(&form);
            let added = app.ask("POST", &format!("api/0/subscription/quickadd?{query}"), &form).await.ok(200);
            assert_eq!((&added["numResults"], &added["query"]), (&json!(1), &json!(url)));
            assert_eq!(added["streamName"], "Delta");
            streams.push(added["streamId"].as_str().unwrap().to_owned());
        }
        assert_eq!(streams[0], streams[1], "twice is once");
        let list = app.json("subscription/list", &[]).await;
        assert_eq!(list["subscriptions"][0]["id"], streams[0]);
        reader.publisher.set("/none", testkit::Page::body("no feed").header("content-type", "text/plain"));
        let none = reader.publisher.url("/none");
        let refused = app.ask("POST", "api/0/subscription/quickadd", &[("quickadd", &none)]).await.ok(200);
        assert_eq!(refused["numResults"], 0);
        assert!(refused["error"].as_str().unwrap().contains("feed"), "{refused}");
    }
}
