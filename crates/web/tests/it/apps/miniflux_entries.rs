//! Miniflux's API: entries, in lists and one by one, and what is marked.

use serde_json::{Value, json};

use super::{
    filled::{Apps, id, refused, sorted, texts},
    greader::{App, READ, STARRED},
};
use crate::server::answer;

const NONE: Value = Value::Null;

async fn titles(apps: &Apps, query: &str) -> Vec<String> {
    let page = apps.v1_get(&format!("/entries?{query}")).await;
    texts(&page["entries"], "title")
}

#[tokio::test]
async fn s3_an_entry_has_what_clients_show() {
    for apps in Apps::each().await {
        let one = apps.id_of("Beta 2").await;
        let entry = apps.v1_get(&format!("/entries/{one}")).await;
        for (field, expect) in [
            ("id", json!(one)),
            ("user_id", json!(1)),
            ("feed_id", json!(apps.beta)),
            ("title", json!("Beta 2")),
            ("url", json!("https://news.example/2")),
            ("content", json!("about word2")),
            ("author", json!("")),
            ("status", json!("unread")),
            ("starred", json!(true)),
            ("published_at", json!("2024-01-01T00:02:00Z")),
            ("reading_time", json!(1)),
            ("tags", json!(["word2"])),
            ("comments_url", json!("")),
            ("share_code", json!("")),
        ] {
            assert_eq!(entry[field], expect, "{field}");
        }
        let file = &entry["enclosures"][0];
        assert_eq!(
            (&file["url"], &file["mime_type"], &file["size"]),
            (&json!("https://news.example/2.mp3"), &json!("audio/mpeg"), &json!(100))
        );
        assert_eq!((&entry["feed"]["title"], &entry["feed"]["category"]["title"]), (&json!("Beta"), &json!("All")));
        assert!(entry["created_at"].is_string() && entry["changed_at"].is_string() && entry["hash"].is_string());
        let listed = apps.v1_get("/entries?starred=true").await;
        assert_eq!(listed, json!({ "total": 1, "entries": [entry] }), "the same in a list");
        for path in [format!("/feeds/{}/entries/{one}", apps.beta), format!("/categories/2147483647/entries/{one}")] {
            assert_eq!(apps.v1_get(&path).await, entry);
        }
        for path in [format!("/feeds/{}/entries/{one}", apps.alpha), format!("/categories/{}/entries/{one}", apps.news)]
        {
            refused(&apps.v1("GET", &path, &NONE).await, 404);
        }
        assert_eq!(apps.v1_get(&format!("/entries/{one}/fetch-content")).await["content"], "about word2");
        let path = format!("/enclosures/{}", file["id"]);
        assert_eq!(apps.v1_get(&path).await, *file);
        assert_eq!(apps.v1("PUT", &path, &json!({ "media_progression": 5 })).await.status, 204);
        refused(&apps.v1("GET", "/enclosures/1", &NONE).await, 404);
        refused(&apps.v1("POST", &format!("/entries/{one}/save"), &NONE).await, 400);
        refused(&apps.v1("GET", "/entries/999999", &NONE).await, 404);
        refused(&apps.v1("GET", "/entries/x", &NONE).await, 400);
    }
}

#[tokio::test]
async fn s3_lists_of_entries_by_every_condition() {
    for apps in Apps::each().await {
        let (feed, news) = (apps.alpha, apps.news);
        let middle = apps.id_of("Alpha 2").await;
        let mut all: Vec<i64> = apps.entries().await.iter().map(id).collect();
        all.sort_unstable();
        for (query, expect) in [
            ("order=published_at&direction=desc".to_owned(), 6),
            ("status=read".to_owned(), 1),
            ("status=unread".to_owned(), 5),
            ("status=read&status=unread".to_owned(), 6),
            ("status=removed".to_owned(), 0),
            ("status=removed&status=unread".to_owned(), 5),
            ("status=removed&search=word3".to_owned(), 0),
            ("starred=true".to_owned(), 1),
            ("starred=0".to_owned(), 5),
            (format!("feed_id={feed}&status=unread"), 2),
            (format!("category_id={news}"), 3),
            ("category_id=2147483647".to_owned(), 3),
            (format!("after_entry_id={middle}"), all.iter().filter(|id| **id > middle).count()),
            (format!("before_entry_id={middle}"), all.iter().filter(|id| **id < middle).count()),
            ("published_before=1704067260".to_owned(), 0),
            ("before=1704067261".to_owned(), 2),
            ("after=1704067260".to_owned(), 4),
            ("published_after=1704067320&globally_visible=true".to_owned(), 2),
            ("changed_after=4102444800".to_owned(), 0),
            ("changed_before=4102444800".to_owned(), 6),
            ("changed_after=1&order=changed_at".to_owned(), 6),
            ("search=word3".to_owned(), 2),
            ("search=Beta+3".to_owned(), 1),
            (format!("search=word3&feed_id={feed}"), 1),
            ("search=word2&status=read".to_owned(), 1),
            ("search=word2&starred=true&order=id".to_owned(), 1),
            ("search=nothing".to_owned(), 0),
            ("search=%21".to_owned(), 0),
            ("unknown=1&limit=x&after_entry_id=x".to_owned(), 6),
        ] {
            let page = apps.v1_get(&format!("/entries?{query}")).await;
            assert_eq!(page["entries"].as_array().unwrap().len(), expect, "{query}");
            assert_eq!(page["total"], expect, "{query}");
        }
        assert_eq!(apps.v1_get(&format!("/feeds/{feed}/entries?status=unread")).await["total"], 2);
        assert_eq!(apps.v1_get(&format!("/categories/{news}/entries")).await["total"], 3);
        // What the path names counts, whatever a parameter says.
        let others = apps.v1_get(&format!("/feeds/{feed}/entries?feed_id={}", apps.beta)).await;
        assert_eq!(sorted(texts(&others["entries"], "title")), ["Alpha 1", "Alpha 2", "Alpha 3"]);
        let others = apps.v1_get(&format!("/categories/{news}/entries?category_id=2147483647")).await;
        assert_eq!(sorted(texts(&others["entries"], "title")), ["Alpha 1", "Alpha 2", "Alpha 3"]);
        assert_eq!(titles(&apps, "search=Beta+3").await, ["Beta 3"]);
    }
}

#[tokio::test]
async fn s3_lists_have_an_order_and_pages() {
    for apps in Apps::each().await {
        let newest = titles(&apps, "order=published_at&direction=desc").await;
        let mut oldest = titles(&apps, "").await;
        oldest.reverse();
        assert_eq!((newest.len(), &newest), (6, &oldest), "oldest first unless told otherwise");
        for order in ["id", "created_at", "changed_at", "published_at", "status", "title", "author", "category_title"] {
            let whole = titles(&apps, &format!("order={order}&direction=asc")).await;
            let mut parts = Vec::new();
            for offset in [0, 4, 8] {
                parts.extend(titles(&apps, &format!("order={order}&direction=asc&limit=4&offset={offset}")).await);
            }
            assert_eq!(parts, whole, "{order}");
        }
        let page = apps.v1_get("/entries?limit=2&offset=1").await;
        assert_eq!((page["entries"].as_array().unwrap().len(), &page["total"]), (2, &json!(6)));
        assert_eq!(titles(&apps, "limit=0").await.len(), 6);
        for bad in [
            "limit=-1",
            "offset=-1",
            "offset=100001",
            "order=x",
            "direction=x",
            "status=x",
            "feed_id=999999",
            "category_id=999999",
        ] {
            refused(&apps.v1("GET", &format!("/entries?{bad}"), &NONE).await, 400);
        }
    }
}

#[tokio::test]
async fn s3_long_lists_are_whole() {
    for apps in Apps::each().await {
        apps.add("Many", 250).await;
        let page = apps.v1_get("/entries?limit=1000&order=id").await;
        let entries = page["entries"].as_array().unwrap();
        let ids: Vec<i64> = entries.iter().map(id).collect();
        assert_eq!((ids.len(), &page["total"]), (256, &json!(256)));
        assert!(ids.is_sorted(), "{ids:?}");
    }
}

#[tokio::test]
async fn s4_a_page_is_whole_however_long_its_texts_are() {
    for apps in Apps::each().await {
        let text = "long ".repeat(180_000);
        let items: String = (1..=5)
            .map(|number| {
                format!(
                    "<item><guid>l{number}</guid><title>Long {number}</title><description>{text}</description></item>"
                )
            })
            .collect();
        let feed = format!("<rss version=\"2.0\"><channel><title>Long</title>{items}</channel></rss>");
        apps.publisher.set("/long.xml", testkit::Page::body(feed).header("content-type", "application/rss+xml"));
        let url = apps.publisher.url("/long.xml");
        let added = apps.v1("POST", "/feeds", &json!({ "feed_url": url })).await.ok(201);
        let page = apps.v1_get(&format!("/feeds/{}/entries?order=id", added["feed_id"])).await;
        let entries = page["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 5);
        assert!(entries.iter().map(id).is_sorted());
        let bytes: usize = entries.iter().map(|entry| entry["content"].as_str().unwrap().len()).sum();
        assert!(bytes > domain::entry::PAGE_TEXT_BYTES_MAX, "{bytes}");
        let items = apps.fever("items&since_id=6").await;
        assert_eq!(items["items"].as_array().unwrap().len(), 5);
        let atom = apps.server.request("GET", &format!("/reader/atom/feed%2F{}?n=100", added["feed_id"]));
        let atom = answer(atom.header("authorization", format!("GoogleLogin auth={}", apps.token))).await;
        assert_eq!((atom.status, atom.text.matches("<entry>").count()), (200, 5));
        assert!(atom.text.ends_with("</entry></feed>"), "it ends once, after all of them");
    }
}

#[tokio::test]
async fn s3_entries_are_marked() {
    for apps in Apps::each().await {
        let (one, two) = (apps.id_of("Alpha 1").await, apps.id_of("Alpha 2").await);
        let mark = async |body: Value| apps.v1("PUT", "/entries", &body).await;
        for _ in 0..2 {
            assert_eq!(mark(json!({ "entry_ids": [one], "status": "read" })).await.status, 204);
            assert_eq!(apps.marks("Alpha 1").await, (true, false));
        }
        assert_eq!(mark(json!({ "entry_ids": [one, two, 999_999], "status": "unread" })).await.status, 204);
        assert_eq!(apps.unread().await.len(), 6);
        assert_eq!(mark(json!({ "entry_ids": [one], "status": "removed" })).await.status, 204);
        assert_eq!(apps.marks("Alpha 1").await, (true, false));
        for bad in [
            json!({ "entry_ids": [], "status": "read" }),
            json!({ "status": "read" }),
            json!({ "entry_ids": [one] }),
            json!({ "entry_ids": [one], "status": "x" }),
            json!({ "entry_ids": "x", "status": "read" }),
            json!({ "entry_ids": (0..10_001).collect::<Vec<i64>>(), "status": "read" }),
            json!([]),
        ] {
            refused(&mark(bad).await, 400);
        }
        let path = format!("/entries/{two}");
        for expect in [true, false] {
            assert_eq!(apps.v1("PUT", &format!("{path}/bookmark"), &NONE).await.status, 204);
            assert_eq!(apps.marks("Alpha 2").await, (false, expect));
        }
        assert_eq!(apps.v1("PUT", &format!("{path}/star"), &NONE).await.status, 204);
        assert_eq!(apps.marks("Alpha 2").await, (false, true));
        assert_eq!(apps.v1("PUT", &path, &json!({ "status": "read" })).await.ok(201)["status"], "read");
        refused(&apps.v1("PUT", &path, &json!({ "title": "mine" })).await, 400);
        refused(&apps.v1("PUT", "/entries/999999", &json!({ "status": "read" })).await, 404);
        refused(&apps.v1("PUT", "/entries/999999/bookmark", &NONE).await, 404);
        for method in ["PUT", "DELETE"] {
            assert_eq!(apps.v1(method, "/flush-history", &NONE).await.status, 202);
        }
        assert_eq!(apps.entries().await.len(), 6, "nothing goes before its time");
    }
}

#[tokio::test]
async fn s3_stars_that_are_toggled_at_once_all_count() {
    for apps in Apps::each().await {
        let path = format!("/entries/{}/bookmark", apps.id_of("Alpha 1").await);
        for round in 0..5 {
            let toggle = || apps.v1("PUT", &path, &NONE);
            let all = futures_util::future::join_all((0..9).map(|_| toggle())).await;
            assert!(all.iter().all(|answer| answer.status == 204), "{all:?}");
            assert_eq!(apps.marks("Alpha 1").await.1, round % 2 == 0, "nine times, in round {round}");
        }
        assert_eq!(apps.get("/api/counts").await["starred"], 2, "and Beta 2");
    }
}

#[tokio::test]
async fn s4_a_mark_of_one_interface_is_seen_by_the_others() {
    for apps in Apps::each().await {
        let one = apps.id_of("Alpha 1").await;
        let google = App::with_token(&apps.reader).await;
        let tags = async |title: &str| {
            let items = google.json("stream/items/contents", &[("i", &google.id(title).await)]).await;
            let tags = &items["items"][0]["categories"];
            [READ, STARRED].map(|tag| tags.as_array().unwrap().contains(&json!(tag)))
        };
        google.change("edit-tag", &[("i", &google.id("Beta 1").await), ("a", READ), ("a", STARRED)]).await;
        let beta = apps.id_of("Beta 1").await;
        let item = &apps.fever(&format!("items&with_ids={beta}")).await["items"][0];
        assert_eq!((&item["is_read"], &item["is_saved"]), (&json!(1), &json!(1)));
        let entry = apps.v1_get(&format!("/entries/{beta}")).await;
        assert_eq!((&entry["status"], &entry["starred"]), (&json!("read"), &json!(true)));
        google.change("edit-tag", &[("i", &google.id("Beta 1").await), ("r", READ), ("r", STARRED)]).await;
        assert_eq!(tags("Alpha 1").await, [false, false]);
        apps.v1("PUT", "/entries", &json!({ "entry_ids": [one], "status": "read" })).await;
        apps.fever(&format!("mark=item&as=saved&id={one}")).await;
        assert_eq!((apps.marks("Alpha 1").await, tags("Alpha 1").await), ((true, true), [true, true]));
        let item = &apps.fever(&format!("items&with_ids={one}")).await["items"][0];
        assert_eq!((&item["is_read"], &item["is_saved"]), (&json!(1), &json!(1)));
        assert_eq!(sorted(titles(&apps, "starred=1").await), ["Alpha 1", "Beta 2"]);
    }
}
