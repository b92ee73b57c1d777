//! Entries: paged through, read, starred, counted.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use web::WebSettings;

use crate::world::{World, fields, keys, rss};

impl World {
    /// The titles of a page.
    async fn titles(&self, query: &str) -> Vec<String> {
        let page = self.get(&format!("/api/entries?{query}")).await;
        let entries = page["entries"].as_array().unwrap();
        entries.iter().map(|entry| entry["title"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn f6_an_entry_has_its_shape() {
    let world = World::start().await;
    let feed = world.added("/feed.xml", &rss("News", 1)).await;
    let page = world.get("/api/entries").await;
    assert_eq!(keys(&page), fields("entries nextCursor"));
    assert_eq!(page["nextCursor"], Value::Null);
    let entry = &page["entries"][0];
    let entry_fields = "id feedId guid url title author summary content publishedAt updatedAt sortAt isRead isStarred categories \
                  enclosures";
    assert_eq!(keys(entry), fields(entry_fields));
    assert_eq!(entry["feedId"], feed["id"]);
    assert_eq!(entry["guid"], "News-1");
    assert_eq!(entry["url"], "https://news.example/1");
    assert_eq!(entry["title"], "News 1");
    assert_eq!(entry["publishedAt"], "2024-01-01T00:01:00Z");
    assert_eq!(entry["sortAt"], entry["publishedAt"]);
    assert_eq!((&entry["isRead"], &entry["isStarred"]), (&json!(false), &json!(false)));
    assert_eq!(entry["categories"], json!(["word1"]));
    let file = json!({"url": "https://news.example/1.mp3", "type": "audio/mpeg", "length": 100, "durationSecs": null});
    assert_eq!(entry["enclosures"], json!([file]));
    assert_eq!(&world.get(&format!("/api/entries/{}", entry["id"])).await, entry);
    world.server.get("/api/entries/999").await.error(404);
}

#[tokio::test]
async fn f6_pages_neither_repeat_nor_skip() {
    let world = World::start().await;
    world.added("/feed.xml", &rss("News", 25)).await;
    let (mut seen, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page = world.get(&format!("/api/entries?limit=10{cursor}")).await;
        seen.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["title"].clone()));
        pages += 1;
        let Some(next) = page["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
        if pages == 1 {
            world.added("/newer.xml", &rss("Newer", 3)).await;
        }
    }
    let of_news: Vec<_> = seen.iter().filter(|title| title.as_str().unwrap().starts_with("News ")).collect();
    let expected: Vec<_> = (1..=25).rev().map(|number| json!(format!("News {number}"))).collect();
    assert_eq!(of_news, expected.iter().collect::<Vec<_>>());
    assert_eq!(world.get("/api/entries").await["entries"].as_array().unwrap().len(), 28);
}

#[tokio::test]
async fn f6_entry_filters_add_up() {
    let world = World::start().await;
    let folder = world.send("POST", "/api/folders", &json!({"name": "Daily"})).await.ok(201)["id"].clone();
    let one = world.added("/one.xml", &rss("One", 2)).await["id"].clone();
    let two = world.added("/two.xml", &rss("Two", 2)).await["id"].clone();
    world.send("PATCH", &format!("/api/feeds/{two}"), &json!({ "folderId": folder })).await.ok(200);
    let first = world.get(&format!("/api/entries?feedId={one}")).await["entries"][0]["id"].clone();
    let marks = json!({"isRead": true, "isStarred": true});
    let marked = world.send("PATCH", &format!("/api/entries/{first}"), &marks).await.ok(200);
    assert_eq!((&marked["isRead"], &marked["isStarred"]), (&json!(true), &json!(true)));
    for (query, expected) in [
        (format!("feedId={one}"), vec!["One 2", "One 1"]),
        (format!("folderId={folder}"), vec!["Two 2", "Two 1"]),
        (format!("feedId={one}&folderId={folder}"), vec![]),
        (format!("feedId={one}&unread=true"), vec!["One 1"]),
        ("unread=false".to_owned(), vec!["One 2"]),
        ("starred=true".to_owned(), vec!["One 2"]),
        (format!("feedId={one}&starred=false"), vec!["One 1"]),
        ("q=two+WORD1".to_owned(), vec!["Two 1"]),
        ("q=nothing".to_owned(), vec![]),
        ("feedId=-1".to_owned(), vec![]),
        (format!("&feedId={two}&&q=%20&"), vec!["Two 2", "Two 1"]),
        ("feedId=999".to_owned(), vec![]),
        (format!("feedId={two}&q="), vec!["Two 2", "Two 1"]),
    ] {
        assert_eq!(world.titles(&query).await, expected, "{query}");
    }
    for id in ["999", "0", "-1", "9223372036854775807"] {
        world.send("PATCH", &format!("/api/entries/{id}"), &json!({"isRead": true})).await.error(404);
    }
}

#[tokio::test]
async fn f6_pictographs_are_searched_for_like_words() {
    let world = World::start().await;
    world.added("/one.xml", &rss("Crabs🦀", 1)).await;
    world.added("/two.xml", &rss("Squids", 1)).await;
    assert_eq!(world.titles("q=🦀").await, ["Crabs🦀 1"]);
    assert_eq!(world.titles("q=%F0%9F%A6%80+crabs").await, ["Crabs🦀 1"]);
    assert_eq!(world.titles("q=🦑").await, [""; 0]);
}

#[tokio::test]
async fn f6_the_search_language_is_understood() {
    let world = World::start().await;
    for (number, title) in ["Fresh bread", "Bread, fresh", "Confitüre", "東京タワー", "Ελλάδα"].into_iter().enumerate()
    {
        world.added(&format!("/{number}.xml"), &rss(title, 1)).await;
    }
    for (query, expected) in [
        ("%22fresh+bread%22", &["Fresh bread 1"][..]),
        ("%22fresh+bread", &["Fresh bread 1"]),
        ("fresh+-%22fresh+bread%22", &["Bread, fresh 1"]),
        ("conf*", &["Confitüre 1"]),
        ("京タワ", &["東京タワー 1"]),
        ("塔", &[]),
        ("東", &["東京タワー 1"]),
        ("ελλαδα", &["Ελλάδα 1"]),
        ("-bread+-東京+-conf*", &["Ελλάδα 1"]),
        ("bread%00", &["Bread, fresh 1", "Fresh bread 1"]),
    ] {
        let mut titles = world.titles(&format!("q={query}")).await;
        titles.sort();
        assert_eq!(titles, expected, "{query}");
    }
}

#[tokio::test]
async fn f6_entries_are_marked_read_and_counted() {
    let world = World::start().await;
    let folder = world.send("POST", "/api/folders", &json!({"name": "Daily"})).await.ok(201)["id"].clone();
    let one = world.added("/one.xml", &rss("One", 2)).await["id"].clone();
    let two = world.added("/two.xml", &rss("Two", 3)).await["id"].clone();
    world.send("PATCH", &format!("/api/feeds/{two}"), &json!({ "folderId": folder })).await.ok(200);
    let id = world.get(&format!("/api/entries?feedId={one}")).await["entries"][0]["id"].clone();
    world.send("PATCH", &format!("/api/entries/{id}"), &json!({"isStarred": true})).await.ok(200);
    let counts = world.get("/api/counts").await;
    assert_eq!(keys(&counts), fields("total starred byFolder byFeed"));
    let by_feed = json!({one.to_string(): 2, two.to_string(): 3});
    assert_eq!(counts, json!({"total": 5, "starred": 1, "byFolder": {folder.to_string(): 3}, "byFeed": by_feed}));

    // By the time of receipt, which is now, whenever it was published.
    for (body, marked, unread) in [
        (json!({"before": "2024-06-01T00:00:00Z"}), 0, 5),
        (json!({"feedId": one, "before": "9999-01-01T02:00:00+02:00"}), 2, 3),
        (json!({"feedId": one, "folderId": folder}), 0, 3),
        // A time that people write for the end of time.
        (json!({"folderId": folder, "before": "9999-12-31T23:59:59Z"}), 3, 0),
        (json!({"folderId": folder, "before": null}), 0, 0),
        (json!({}), 0, 0),
    ] {
        let answer = world.send("POST", "/api/entries/mark-read", &body).await.ok(200);
        assert_eq!(answer, json!({ "marked": marked }), "{body}");
        assert_eq!(world.get("/api/counts").await["total"], unread, "{body}");
    }
    let read: BTreeSet<_> = world.titles("unread=false").await.into_iter().collect();
    assert_eq!(read.len(), 5);
}

#[tokio::test]
async fn f6_entries_are_listed_by_order_ids_and_time() {
    let world = World::start().await;
    world.added("/one.xml", &rss("One", 3)).await;
    let page = world.get("/api/entries?order=oldest&limit=2").await;
    assert_eq!([&page["entries"][0]["title"], &page["entries"][1]["title"]], ["One 1", "One 2"]);
    let cursor = page["nextCursor"].as_str().unwrap();
    assert_eq!(world.titles(&format!("order=oldest&limit=2&cursor={cursor}")).await, ["One 3"]);
    let ids: Vec<_> = page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].to_string()).collect();
    let query = format!("ids={0},{1},{0},999", ids[0], ids[1]);
    assert_eq!(world.titles(&query).await, ["One 2", "One 1"]);
    assert_eq!(world.titles(&format!("{query}&order=oldest&limit=1")).await, ["One 1"]);

    // By the time of receipt, which is now, whenever it was published.
    assert_eq!(world.titles("receivedSince=2025-01-01T00:00:00Z&order=oldest").await, ["One 1", "One 2", "One 3"]);
    assert_eq!(world.titles("receivedSince=9999-12-31T23:59:59Z").await, [""; 0]);
    world.send("PATCH", &format!("/api/entries/{}", ids[0]), &json!({"isRead": true})).await.ok(200);
    assert_eq!(world.titles("changedSince=2025-01-01T00:00:00Z&unread=false").await, ["One 1"]);
    assert_eq!(world.titles("changedSince=2025-01-01T00:00:00Z&limit=1").await, ["One 1"]);
}

#[tokio::test]
async fn f6_many_entries_are_marked_in_one_request() {
    let world = World::start().await;
    world.added("/one.xml", &rss("One", 3)).await;
    world.added("/two.xml", &rss("Two", 2)).await;
    let page = world.get("/api/entries").await;
    let mut ids: Vec<_> = page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect();
    ids[4] = json!(999);
    for (body, marked, unread, starred) in [
        (json!({"ids": ids, "isRead": true}), 4, 1, 0),
        (json!({"ids": ids, "isRead": true, "isStarred": true}), 4, 1, 4),
        (json!({"ids": &ids[..2], "isRead": false, "isStarred": null}), 2, 3, 4),
        (json!({"ids": ids}), 0, 3, 4),
        (json!({"ids": [], "isRead": true}), 0, 3, 4),
    ] {
        let answer = world.send("PATCH", "/api/entries", &body).await.ok(200);
        assert_eq!(answer, json!({ "marked": marked }), "{body}");
        let counts = world.get("/api/counts").await;
        assert_eq!((&counts["total"], &counts["starred"]), (&json!(unread), &json!(starred)), "{body}");
    }
}

#[tokio::test]
async fn u8_pages_are_bounded_and_large_ones_wait() {
    // One after the other, however long that takes on a busy machine.
    let patient = Duration::from_mins(10);
    let settings = WebSettings { answer_memory_bytes: 0, quick_timeout: patient, ..WebSettings::default() };
    let world = World::start_with(settings).await;
    let text = "x".repeat(1_000_000);
    world.added("/large.xml", &rss("Large", 6).replace("about", &text)).await;
    let pages = (0..8).map(|_| world.server.get("/api/entries"));
    let mut cursor = String::new();
    for page in futures_util::future::join_all(pages).await {
        let length: usize = page.headers["content-length"].to_str().unwrap().parse().unwrap();
        assert_eq!(length, page.text.len());
        assert!(length < 5 * 1024 * 1024, "{length}");
        let page = page.ok(200);
        assert_eq!(page["entries"].as_array().unwrap().len(), 4);
        page["nextCursor"].as_str().unwrap().clone_into(&mut cursor);
    }
    assert_eq!(world.titles(&format!("cursor={cursor}")).await, ["Large 2", "Large 1"]);
    let bare = world.get("/api/entries?content=false").await;
    assert_eq!((bare["entries"].as_array().unwrap().len(), &bare["nextCursor"]), (6, &Value::Null));
    assert_eq!((&bare["entries"][0]["content"], &bare["entries"][0]["summary"]), (&Value::Null, &Value::Null));
    assert_eq!(bare["entries"][0]["title"], "Large 6");
}
