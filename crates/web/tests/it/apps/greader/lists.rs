//! Subscriptions, tags and counts.

use serde_json::{Value, json};

use super::{App, READING_LIST, STARRED};
use crate::{
    apps::Reader,
    page::icons::{PNG, find_icons},
    server::answer,
    world::{fields, keys},
};

#[tokio::test]
async fn s1_subscriptions_have_their_shape() {
    for reader in Reader::each().await {
        let (alpha, beta) = reader.filled().await;
        let app = App::with_token(&reader).await;
        let list = app.json("subscription/list", &[("output", "json"), ("client", "x")]).await;
        let list = list["subscriptions"].as_array().unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(keys(&list[0]), fields("id title categories url htmlUrl iconUrl"));
        assert_eq!(list[0]["id"], format!("feed/{alpha}"));
        assert_eq!(list[0]["title"], "Alpha");
        assert_eq!(list[0]["url"], reader.publisher.url("/alpha.xml"));
        assert_eq!(list[0]["htmlUrl"], "https://news.example/");
        assert_eq!(list[0]["categories"], json!([{ "id": "user/-/label/News", "label": "News" }]));
        assert_eq!((&list[1]["id"], &list[1]["categories"]), (&json!(format!("feed/{beta}")), &json!([])));
        assert_eq!(list[0]["iconUrl"], "", "it has none yet");
    }
}

#[tokio::test]
async fn s1_icons_are_at_addresses_that_need_no_login() {
    for reader in Reader::each().await {
        let (alpha, beta) = reader.filled().await;
        find_icons(&*reader.store).await;
        let app = App::with_token(&reader).await;
        let urls = async || -> Vec<String> {
            let list = app.json("subscription/list", &[]).await;
            let list = list["subscriptions"].as_array().unwrap().iter();
            list.map(|one| one["iconUrl"].as_str().unwrap().to_owned()).collect()
        };
        let of_both = urls().await;
        assert_eq!(urls().await, of_both, "clients keep what they have loaded");
        let get = |url: &str| reader.server.client.get(url);
        for url in &of_both {
            assert!(url.starts_with(&reader.server.url), "{url}");
            // A page of another site, as some apps are, shows it as any picture.
            let response = get(url).header("sec-fetch-site", "cross-site").send().await.unwrap();
            let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
            assert_eq!((response.status().as_u16(), header("content-type").as_str()), (200, "image/png"));
            assert_eq!(header("cross-origin-resource-policy"), "cross-origin");
            assert_eq!(header("x-content-type-options"), "nosniff");
            let tag = header("etag");
            assert_eq!(response.bytes().await.unwrap(), PNG);
            assert_eq!(answer(get(url).header("if-none-match", tag)).await.status, 304);
            assert_eq!(answer(reader.server.client.post(url)).await.status, 405);
        }
        // Signatures are of one feed and one account, and whole.
        let (place, signature) = of_both[0].rsplit_once('/').unwrap();
        let (_, of_beta) = of_both[1].rsplit_once('/').unwrap();
        let of = |feed: i64| format!("/icons/1/{feed}");
        assert!(place.ends_with(&of(alpha)), "{place}");
        for bad in [
            format!("{place}/{of_beta}"),
            format!("{place}/{}", &signature[..16]),
            format!("{place}/"),
            place.to_owned(),
            of_both[0].replace(&of(alpha), &of(beta)),
            of_both[0].replace(&of(alpha), &format!("/icons/2/{alpha}")),
        ] {
            let refused = answer(get(&bad)).await;
            assert_eq!((refused.status, &*refused.text), (404, "Not Found!"), "{bad}");
        }
        app.change("subscription/edit", &[("ac", "unsubscribe"), ("s", &format!("feed/{alpha}"))]).await;
        assert_eq!(answer(get(&of_both[0])).await.status, 404, "it is not followed any more");
        assert_eq!(urls().await, of_both[1..]);
    }
}

#[tokio::test]
async fn s1_folders_are_tags_of_type_folder() {
    for reader in Reader::each().await {
        reader.filled().await;
        reader.api("POST", "/api/folders", &json!({ "name": "Empty & \u{e9}" })).await.ok(201);
        let app = App::with_token(&reader).await;
        let tags = app.json("tag/list", &[]).await;
        let expect = json!([
            { "id": STARRED },
            { "id": "user/-/label/News", "type": "folder" },
            { "id": "user/-/label/Empty & \u{e9}", "type": "folder" },
        ]);
        assert_eq!(tags["tags"], expect);
    }
}

#[tokio::test]
async fn s1_lists_that_are_known_are_not_sent_again() {
    for reader in Reader::each().await {
        reader.filled().await;
        let app = App::with_token(&reader).await;
        for path in ["subscription/list", "tag/list"] {
            let first = app.get(path, &[]).await;
            let again = async || {
                let request = reader.server.request("GET", &format!("/reader/api/0/{path}"));
                let request = request.header("authorization", format!("GoogleLogin auth={}", app.auth));
                answer(request.header("if-none-match", first.header("etag"))).await
            };
            assert_eq!((again().await.status, again().await.text.as_str()), (304, ""));
            app.change("edit-tag", &[("a", &format!("user/-/label/{}", path.len()))]).await;
            let is_changed = path == "tag/list";
            assert_eq!(again().await.status, if is_changed { 200 } else { 304 }, "{path}");
        }
    }
}

#[tokio::test]
async fn s1_unread_counts_are_of_feeds_folders_and_all() {
    for reader in Reader::each().await {
        let (alpha, beta) = reader.filled().await;
        let app = App::with_token(&reader).await;
        let counts = app.json("unread-count", &[("all", "true")]).await;
        assert_eq!(counts["max"], 5);
        let count = |counts: &Value, id: &str| {
            let list = counts["unreadcounts"].as_array().unwrap();
            list.iter().find(|one| one["id"] == id).map(|one| one["count"].as_u64().unwrap())
        };
        let [of_alpha, of_beta] = [alpha, beta].map(|id| format!("feed/{id}"));
        for (id, expect) in [(&*of_alpha, 2), (&of_beta, 3), ("user/-/label/News", 2), (READING_LIST, 5)] {
            assert_eq!(count(&counts, id), Some(expect), "{id}");
        }
        for one in counts["unreadcounts"].as_array().unwrap() {
            assert_eq!(one["newestItemTimestampUsec"].as_str().unwrap().len(), 16, "{one}");
        }
        app.change("mark-all-as-read", &[("s", READING_LIST)]).await;
        let counts = app.json("unread-count", &[]).await;
        assert_eq!((counts["max"].as_u64(), count(&counts, READING_LIST)), (Some(0), Some(0)));
        assert_eq!(count(&counts, &of_alpha), None);
    }
}

#[tokio::test]
async fn s1_opml_comes_and_goes() {
    for reader in Reader::each().await {
        reader.filled().await;
        let app = App::with_token(&reader).await;
        let exported = app.get("subscription/export", &[]).await;
        assert_eq!(exported.status, 200);
        assert!(exported.text.contains("/alpha.xml") && exported.text.contains("News"), "{exported:?}");
        let opml = r#"<opml version="2.0"><body><outline text="In"><outline text="Gamma" xmlUrl="http://127.0.0.1:1/g"/></outline></body></opml>"#;
        // Who asks stands in the query, because the body is the file.
        let request = reader.server.request("POST", &format!("/reader/api/0/subscription/import?T={}", app.auth));
        let imported = answer(request.header("content-type", "text/xml; charset=utf-8").body(opml)).await;
        assert_eq!((imported.status, &*imported.text), (200, "OK"));
        let list = app.json("subscription/list", &[]).await;
        assert!(list["subscriptions"].as_array().unwrap().iter().any(|one| one["categories"][0]["label"] == "In"));
        let bad = app.ask("POST", "api/0/subscription/import", &[("x", "y")]).await;
        assert_eq!((bad.status, &*bad.text), (400, "Bad Request!"));
    }
}
