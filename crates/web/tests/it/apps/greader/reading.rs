//! Streams: ids, contents, items; what is asked for, in every form.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{App, READ, READING_LIST, STARRED, titles};
use crate::{
    apps::{Reader, with_form},
    server::answer,
    world::{fields, keys, rss},
};

#[tokio::test]
async fn s1_an_item_has_its_shape() {
    for reader in Reader::each().await {
        let (alpha, _) = reader.filled().await;
        reader.mark("Alpha 1", &json!({ "isRead": true, "isStarred": true })).await;
        let app = App::with_token(&reader).await;
        let contents = app.json("stream/contents", &[("s", &format!("feed/{alpha}")), ("n", "1"), ("r", "o")]).await;
        assert_eq!(keys(&contents), fields("direction id title updated items continuation"));
        assert_eq!(contents["id"], format!("feed/{alpha}"));
        assert!(contents["continuation"].is_string());
        let item = &contents["items"][0];
        let shape = "id crawlTimeMsec timestampUsec published updated title canonical alternate categories origin summary enclosure";
        assert_eq!(keys(item), fields(shape));
        assert_eq!(item["id"], app.id("Alpha 1").await);
        assert_eq!(item["title"], "Alpha 1");
        assert_eq!((&item["published"], &item["updated"]), (&json!(1_704_067_260), &json!(1_704_067_260)));
        assert_eq!(item["crawlTimeMsec"].as_str().unwrap().len(), 13);
        assert_eq!(item["timestampUsec"].as_str().unwrap().len(), 16);
        assert_eq!(item["canonical"], json!([{ "href": "https://news.example/1" }]));
        assert_eq!(item["alternate"], json!([{ "href": "https://news.example/1", "type": "text/html" }]));
        assert_eq!(item["categories"], json!([READING_LIST, READ, STARRED, "user/-/label/News"]));
        let origin =
            json!({ "streamId": format!("feed/{alpha}"), "title": "Alpha", "htmlUrl": "https://news.example/" });
        assert_eq!(item["origin"], origin);
        assert_eq!(item["summary"], json!({ "content": "about word1" }));
        let enclosure = json!([{ "href": "https://news.example/1.mp3", "type": "audio/mpeg", "length": 100 }]);
        assert_eq!(item["enclosure"], enclosure);
    }
}

#[tokio::test]
async fn s1_streams_are_of_feeds_labels_and_states() {
    for reader in Reader::each().await {
        let (alpha, beta) = reader.filled().await;
        let app = App::with_token(&reader).await;
        let url = format!("feed/{}", reader.publisher.url("/beta.xml"));
        let [of_alpha, of_beta] = [alpha, beta].map(|id| format!("feed/{id}"));
        for (stream, query, expect) in [
            (READING_LIST, vec![], "Alpha 1,Alpha 2,Alpha 3,Beta 1,Beta 2,Beta 3"),
            (READING_LIST, vec![("xt", READ)], "Alpha 1,Alpha 3,Beta 1,Beta 2,Beta 3"),
            ("user/1/state/com.google/reading-list", vec![("it", READ)], "Alpha 2"),
            (READING_LIST, vec![("xt", READ), ("xt", STARRED)], "Alpha 1,Alpha 3,Beta 1,Beta 3"),
            (READ, vec![], "Alpha 2"),
            (READ, vec![("xt", READ)], ""),
            (STARRED, vec![], "Beta 2"),
            ("user/-/state/com.google/kept-unread", vec![], "Alpha 1,Alpha 3,Beta 1,Beta 2,Beta 3"),
            ("user/-/state/com.google/broadcast", vec![], ""),
            (&of_alpha, vec![], "Alpha 1,Alpha 2,Alpha 3"),
            (&of_alpha, vec![("xt", READ)], "Alpha 1,Alpha 3"),
            (&of_beta, vec![("it", STARRED)], "Beta 2"),
            (&url, vec![], "Beta 1,Beta 2,Beta 3"),
            ("user/-/label/News", vec![], "Alpha 1,Alpha 2,Alpha 3"),
            (
                "user/-/label/News",
                vec![("xt", READ), ("comments", "true"), ("ck", "1"), ("client", "x")],
                "Alpha 1,Alpha 3",
            ),
            ("user/-/label/None", vec![], ""),
            ("feed/999", vec![], ""),
            ("feed/http://nobody.example/", vec![], ""),
        ] {
            let mut found = app.titles(stream, &query).await;
            found.sort();
            assert_eq!(found.join(","), expect, "{stream} {query:?}");
            let query: Vec<_> = [("s", stream), ("n", "100")].into_iter().chain(query).collect();
            let refs = app.json("stream/items/ids", &query).await;
            assert_eq!(refs["itemRefs"].as_array().unwrap().len(), found.len(), "{stream} {query:?}");
        }
        for path in [
            format!("stream/contents/feed%2F{alpha}"),
            format!("stream/contents/feed/{alpha}"),
            "stream/contents/user/-/label/News".to_owned(),
            "stream/contents/user%2F-%2Flabel%2FNews".to_owned(),
        ] {
            assert_eq!(titles(&app.json(&path, &[]).await).len(), 3, "{path}");
        }
        assert_eq!(titles(&app.json("stream/contents", &[]).await).len(), 6, "the reading list");
        let other = super::App::log_in(&reader, "/api/greader.php/", &reader.token).await;
        assert_eq!(titles(&other.json("stream/contents", &[]).await).len(), 6, "with two slashes");
    }
}

#[tokio::test]
async fn s1_unknown_things_are_refused_or_empty_and_never_500() {
    for reader in Reader::each().await {
        reader.filled().await;
        let app = App::with_token(&reader).await;
        for (path, query, status) in [
            ("stream/contents", vec![("s", "nonsense")], 400),
            ("stream/items/ids", vec![("s", "nonsense")], 400),
            ("stream/items/ids", vec![("s", READING_LIST), ("ot", "then")], 400),
            ("stream/items/ids", vec![("s", READING_LIST), ("c", "x")], 400),
            ("stream/items/ids", vec![("s", READING_LIST), ("n", "many"), ("r", "x")], 200),
            ("stream/items/ids", vec![("s", READING_LIST), ("n", "0")], 200),
            ("stream/items/ids", vec![("s", READING_LIST), ("n", "99999999999999999999")], 200),
            ("stream/items/ids", vec![("s", READING_LIST), ("ot", "-5"), ("nt", "99999999999999")], 200),
            ("stream/items/contents", vec![("i", "x"), ("i", "-1"), ("i", "999")], 200),
            ("no/such/call", vec![], 404),
            ("edit-tag", vec![("i", "1")], 405),
        ] {
            assert_eq!(app.get(path, &query).await.status, status, "{path} {query:?}");
        }
        for (path, form) in [
            ("mark-all-as-read", vec![]),
            ("mark-all-as-read", vec![("s", "nonsense")]),
            ("mark-all-as-read", vec![("s", READING_LIST), ("ts", "now")]),
            ("subscription/edit", vec![("ac", "subscribe"), ("s", "feed/not a url")]),
            ("subscription/edit", vec![("ac", "unsubscribe"), ("s", "feed/999")]),
            ("subscription/edit", vec![("ac", "edit"), ("s", "feed/999"), ("t", "x")]),
            ("subscription/edit", vec![("ac", "dance"), ("s", "feed/1")]),
            ("subscription/edit", vec![("ac", "edit")]),
            ("subscription/quickadd", vec![]),
            ("rename-tag", vec![("s", "user/-/label/None"), ("dest", "user/-/label/X")]),
            ("rename-tag", vec![("s", "user/-/label/News")]),
            ("disable-tag", vec![("s", "user/-/label/None")]),
            ("edit-tag", vec![("a", "user/-/label/")]),
        ] {
            let answer = app.ask("POST", &format!("api/0/{path}"), &form).await;
            assert_eq!((answer.status, &*answer.text), (400, "Bad Request!"), "{path} {form:?}");
        }
        assert_eq!(reader.get("/api/counts").await["total"], 5, "nothing was marked");
    }
}

#[tokio::test]
async fn s1_pages_follow_by_continuation_which_the_last_has_not() {
    for reader in Reader::each().await {
        let id = reader.add("/many.xml", &rss("Many", 57), None).await;
        let app = App::with_token(&reader).await;
        let stream = format!("feed/{id}");
        for order in ["n", "o"] {
            for (path, list) in [("stream/contents", "items"), ("stream/items/ids", "itemRefs")] {
                let (mut seen, mut sizes, mut continuation) = (Vec::new(), Vec::new(), None::<String>);
                loop {
                    let mut query = vec![("s", stream.as_str()), ("n", "19"), ("r", order)];
                    query.extend(continuation.as_deref().map(|continuation| ("c", continuation)));
                    let page = app.json(path, &query).await;
                    let items = page[list].as_array().unwrap();
                    sizes.push(items.len());
                    seen.extend(items.iter().map(number));
                    match page.get("continuation") {
                        Some(Value::String(next)) => continuation = Some(next.clone()),
                        None => break,
                        other => panic!("{other:?}"),
                    }
                }
                assert_eq!(sizes, [19, 19, 19], "a page that is full and the last has none");
                assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 57);
                let is_sorted = if order == "o" { seen.is_sorted() } else { seen.iter().rev().is_sorted() };
                assert!(is_sorted, "{order} {path} {seen:?}");
            }
        }
        assert_eq!(app.json("stream/contents", &[]).await["items"].as_array().unwrap().len(), 20, "by default");
    }
}

/// The number of an item, from its long id or its decimal one.
fn number(item: &Value) -> i64 {
    let id = item["id"].as_str().unwrap();
    match id.strip_prefix("tag:google.com,2005:reader/item/") {
        Some(hex) => i64::from_str_radix(hex, 16).unwrap(),
        None => id.parse().unwrap(),
    }
}

#[tokio::test]
async fn s1_ot_and_nt_are_times_of_receipt() {
    for reader in Reader::each().await {
        let id = reader.add("/feed.xml", &rss("Old", 2), None).await;
        let app = App::with_token(&reader).await;
        let first = app.json("stream/contents", &[]).await;
        let received: i64 = first["items"][0]["crawlTimeMsec"].as_str().unwrap().parse().unwrap();
        // Its date is before those that are there.
        let late = rss("Old", 2).replace("</channel>", &format!("{LATE}</channel>"));
        reader.update(id, "/feed.xml", &late).await;
        let late = app.json("stream/contents", &[("n", "1")]).await;
        assert_eq!(late["items"][0]["title"], "Late", "newest received first");
        let received_late: i64 = late["items"][0]["crawlTimeMsec"].as_str().unwrap().parse().unwrap();
        assert!(received_late >= received);
        let secs = |millis: i64| (millis / 1000).to_string();
        for (name, value, expect) in [
            ("ot", secs(received - 1000), 3),
            ("ot", secs(received_late + 3_600_000), 0),
            ("nt", secs(received_late + 1000), 3),
            ("nt", secs(received - 1000), 0),
        ] {
            assert_eq!(app.titles(READING_LIST, &[(name, &value)]).await.len(), expect, "{name}={value}");
            assert_eq!(app.titles(&format!("feed/{id}"), &[(name, &value)]).await.len(), expect, "{name}={value}");
        }
    }
}

const LATE: &str = "<item><guid isPermaLink=\"false\">late</guid><title>Late</title>\
                    <pubDate>Mon, 01 Jan 2001 00:00:00 GMT</pubDate></item>";

#[tokio::test]
async fn s1_items_are_found_by_ids_of_every_form() {
    for reader in Reader::each().await {
        reader.filled().await;
        let app = App::with_token(&reader).await;
        let id = reader.entry("Alpha 1").await["id"].as_i64().unwrap();
        for form in [
            format!("tag:google.com,2005:reader/item/{id:016x}"),
            format!("tag:google.com,2005:reader/item/{id:x}"),
            format!("{id:016x}"),
            id.to_string(),
        ] {
            let answer = app.ask("POST", "api/0/stream/items/contents", &[("i", &form), ("i", "999")]).await.ok(200);
            assert_eq!(titles(&answer), ["Alpha 1"], "{form}");
        }
        let none = app.ask("POST", "api/0/stream/items/contents", &[("output", "json")]).await.ok(200);
        assert_eq!(titles(&none), [""; 0]);
        let by_get = app.json("stream/items/contents", &[("i", &id.to_string())]).await;
        assert_eq!(titles(&by_get), ["Alpha 1"]);
    }
}

#[tokio::test]
async fn s1_ten_thousand_ids_in_one_request() {
    for reader in Reader::each().await {
        reader.add("/many.xml", &rss("Many", 1100), None).await;
        let app = App::with_token(&reader).await;
        let all = app.json("stream/items/ids", &[("s", READING_LIST), ("n", "200000"), ("output", "json")]).await;
        assert!(all.get("continuation").is_none());
        let refs = all["itemRefs"].as_array().unwrap();
        let mut ids: Vec<String> =
            refs.iter().map(|one| format!("tag:google.com,2005:reader/item/{:016x}", number(one))).collect();
        assert_eq!(ids.len(), 1100);
        ids.extend((1_000_000..1_008_900).map(|number| format!("tag:google.com,2005:reader/item/{number:016x}")));
        let form: Vec<_> = ids.iter().map(|id| ("i", id.as_str())).collect();
        let contents = app.ask("POST", "api/0/stream/items/contents", &form).await.ok(200);
        assert_eq!(titles(&contents).into_iter().collect::<BTreeSet<_>>().len(), 1100, "each once, over several pages");
        let marked: Vec<_> = form.iter().copied().chain([("a", READ), ("T", &app.auth)]).collect();
        for _ in 0..2 {
            app.change("edit-tag", &marked).await;
            assert_eq!(reader.get("/api/counts").await["total"], 0);
        }
        let too_many: Vec<_> = std::iter::repeat_n(("i", "1"), 10_001).collect();
        let request = reader.server.request("POST", "/reader/api/0/stream/items/contents");
        let request = request.header("authorization", format!("GoogleLogin auth={}", app.auth));
        assert_eq!(answer(with_form(request, &too_many)).await.status, 400);
    }
}

#[tokio::test]
async fn s1_feedhq_reads_atom() {
    for reader in Reader::each().await {
        let (alpha, _) = reader.filled().await;
        let app = App::with_password(&reader).await;
        let id = app.id("Alpha 2").await;
        for path in [format!("atom/feed%2F{alpha}?n=100"), format!("atom/feed/{alpha}?n=100")] {
            let answer = app.ask("GET", &path, &[]).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, "application/atom+xml; charset=utf-8"));
            let text = answer.text.replace('\n', "");
            let entry = text.split("<entry>").find(|entry| entry.contains(&format!("<id>{id}</id>"))).unwrap();
            for expect in [
                "<title type=\"text\">Alpha 2</title>",
                "scheme=\"http://www.google.com/reader/\" label=\"read\"",
                "href=\"https://news.example/2\"",
                "rel=\"enclosure\" type=\"audio/mpeg\" href=\"https://news.example/2.mp3\"",
                "<content type=\"html\">about word2</content>",
                "<published>2024-01-01T00:02:00Z</published>",
            ] {
                assert!(entry.contains(expect), "{expect} in {entry}");
            }
            assert_eq!(text.matches("label=\"fresh\"").count(), 2);
        }
        assert_eq!(app.ask("GET", "atom/feed%2F999", &[]).await.status, 404);
    }
}

#[tokio::test]
async fn s1_nothing_of_another_account_is_seen() {
    for reader in Reader::each().await {
        let (alpha, _) = reader.filled().await;
        let id = reader.entry("Alpha 1").await["id"].to_string();
        let ann = json!({ "name": "ann", "password": "another horse" });
        reader.api("POST", "/api/accounts", &ann).await.ok(201);
        let login = super::log_in(&reader, "", "ann", "another horse").await;
        let auth = login.text.lines().find_map(|line| line.strip_prefix("Auth=")).unwrap().to_owned();
        let app = App { reader: &reader, base: "", auth };
        assert_eq!(app.json("subscription/list", &[]).await["subscriptions"], json!([]));
        assert_eq!(app.titles(READING_LIST, &[]).await, [""; 0]);
        assert_eq!(app.titles(&format!("feed/{alpha}"), &[]).await, [""; 0]);
        assert_eq!(app.titles("user/-/label/News", &[]).await, [""; 0]);
        assert_eq!(titles(&app.json("stream/items/contents", &[("i", &id)]).await), [""; 0]);
        app.change("edit-tag", &[("i", &id), ("a", READ)]).await;
        app.change("mark-all-as-read", &[("s", &format!("feed/{alpha}"))]).await;
        app.change("mark-all-as-read", &[("s", READING_LIST)]).await;
        assert_eq!(reader.get("/api/counts").await["total"], 5);
        assert_eq!(app.ask("GET", &format!("atom/feed%2F{alpha}"), &[]).await.status, 404);
    }
}
