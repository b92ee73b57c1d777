//! Sessions of Miniflux's clients, as their sources have them: `docs/apps.md` lists the calls.

use serde_json::{Value, json};

use super::filled::{Apps, id, texts};
use crate::{accounts::PASSWORD, page::icons::find_icons, server::answer};

const NONE: Value = Value::Null;

/// newsboat: name and password each time; categories, feeds, then each feed's entries; numbers of 31 bits; what is marked
/// is answered with nothing at all.
#[tokio::test]
async fn s3_session_of_newsboat() {
    for apps in Apps::each().await {
        // Told an address with a slash at its end, as its manual has it, it asks with two.
        let request = apps.server.request("GET", "//v1/feeds").basic_auth("reader", Some(PASSWORD));
        assert_eq!(answer(request).await.ok(200).as_array().unwrap().len(), 2);
        let categories = apps.v1_basic("GET", "/categories", &NONE).await.ok(200);
        let feeds = apps.v1_basic("GET", "/feeds", &NONE).await.ok(200);
        let mut seen = Vec::new();
        for feed in feeds.as_array().unwrap() {
            let category = feed["category"]["id"].as_i64().unwrap();
            assert!(categories.as_array().unwrap().iter().any(|one| id(one) == category));
            assert!(i32::try_from(category).is_ok() && i32::try_from(id(feed)).is_ok());
            let path = format!("/feeds/{}/entries?order=published_at&direction=desc&limit=100", id(feed));
            let page = apps.v1_basic("GET", &path, &NONE).await.ok(200);
            for entry in page["entries"].as_array().unwrap() {
                for field in ["title", "url", "author", "content", "published_at", "status"] {
                    assert!(entry[field].is_string(), "{field}");
                }
                seen.push(i32::try_from(id(entry)).unwrap());
            }
        }
        assert_eq!(seen.len(), 6);
        let body = json!({ "status": "read", "entry_ids": seen });
        let marked = apps.v1_basic("PUT", "/entries", &body).await;
        assert_eq!((marked.status, marked.text.as_str()), (204, ""));
        assert_eq!(apps.unread().await, [""; 0]);
        let starred = apps.v1_basic("PUT", &format!("/entries/{}/bookmark", seen[0]), &NONE).await;
        assert_eq!(starred.status, 204);
    }
}

/// NewsFlash: me, categories, feeds and icons; unread and starred ones by offset until a page is short; then read ones. Then
/// marks, and all that there is of feeds and categories.
#[tokio::test]
async fn s3_session_of_newsflash() {
    for apps in Apps::each().await {
        assert_eq!(apps.v1_get("/me").await["username"], "reader");
        assert_eq!(apps.v1_get("/categories").await.as_array().unwrap().len(), 2);
        find_icons(&*apps.store).await;
        let feeds = apps.v1_get("/feeds").await;
        assert_eq!(feeds.as_array().unwrap().len(), 2);
        for feed in feeds.as_array().unwrap() {
            let icon = apps.v1_get(&format!("/feeds/{}/icon", id(feed))).await;
            assert!(icon["data"].as_str().unwrap().starts_with("image/png;base64,"), "{icon}");
        }
        for (kind, expect) in [("status=unread", 5), ("starred=true", 1), ("status=read", 1)] {
            let (mut found, mut offset) = (0, 0);
            loop {
                let page = apps.v1_get(&format!("/entries?{kind}&offset={offset}&limit=2&direction=desc")).await;
                let length = page["entries"].as_array().unwrap().len();
                (found, offset) = (found + length, offset + 2);
                if length < 2 {
                    break;
                }
            }
            assert_eq!(found, expect, "{kind}");
        }
        let one = apps.id_of("Alpha 1").await;
        let read = json!({ "entry_ids": [one], "status": "read" });
        assert_eq!(apps.v1("PUT", "/entries", &read).await.status, 204);
        assert_eq!(apps.v1("PUT", &format!("/entries/{one}/bookmark"), &NONE).await.status, 204);
        assert_eq!(apps.marks("Alpha 1").await, (true, true));
        let made = apps.v1("POST", "/categories", &json!({ "title": "Fresh" })).await.ok(201);
        let body = json!({ "feed_url": apps.publish("Gamma", 1), "category_id": made["id"] });
        let feed = apps.v1("POST", "/feeds", &body).await.ok(201)["feed_id"].as_i64().unwrap();
        apps.v1("PUT", &format!("/feeds/{feed}"), &json!({ "title": "Mine", "category_id": apps.news })).await.ok(201);
        assert_eq!(apps.v1("DELETE", &format!("/categories/{}", made["id"]), &NONE).await.status, 204);
        assert_eq!(apps.v1("DELETE", &format!("/feeds/{feed}"), &NONE).await.status, 204);
    }
}

/// ReactFlux, a web page: a preflight before each call, lists with their totals, the history by change, all marked read.
#[tokio::test]
async fn s3_session_of_reactflux() {
    for apps in Apps::each().await {
        let call = async |method: &str, path: &str, body: &Value| {
            let server = &apps.server;
            let asked = server.request("OPTIONS", path).header("origin", "https://reactflux.example");
            let preflight = answer(asked.header("access-control-request-method", method)).await;
            assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (200, "*"));
            let request = server.request(method, path).header("origin", "https://reactflux.example");
            let request = request.header("x-auth-token", &apps.token).header("content-type", "application/json");
            answer(if body.is_null() { request } else { request.body(body.to_string()) }).await
        };
        let me = call("GET", "/v1/me", &NONE).await.ok(200);
        call("GET", "/v1/version", &NONE).await.ok(200);
        call("GET", "/v1/integrations/status", &NONE).await.ok(200);
        let counters = call("GET", "/v1/feeds/counters", &NONE).await.ok(200);
        assert_eq!(counters["unreads"][apps.beta.to_string()], 3);
        find_icons(&*apps.store).await;
        let feeds = call("GET", "/v1/feeds", &NONE).await.ok(200);
        let icon = call("GET", &format!("/v1/icons/{}", feeds[0]["icon"]["icon_id"]), &NONE).await.ok(200);
        assert_eq!(icon["mime_type"], "image/png");
        call("GET", "/v1/categories", &NONE).await.ok(200);
        let list = async |query: &str| {
            call("GET", &format!("/v1/entries?direction=desc&offset=0&limit=24&{query}"), &NONE).await.ok(200)
        };
        assert_eq!(list("order=published_at&status=unread").await["total"], 5);
        assert_eq!(list("order=created_at&published_after=1700000000").await["total"], 6);
        assert_eq!(list("order=changed_at&starred=true").await["total"], 1);
        assert_eq!(texts(&list("order=changed_at&status=read").await["entries"], "title"), ["Alpha 2"]);
        let one = apps.id_of("Alpha 1").await;
        let body = json!({ "entry_ids": [one], "status": "read" });
        assert_eq!(call("PUT", "/v1/entries", &body).await.status, 204);
        assert_eq!(texts(&list("order=changed_at&status=read").await["entries"], "title"), ["Alpha 1", "Alpha 2"]);
        assert_eq!(call("PUT", &format!("/v1/entries/{one}/bookmark"), &NONE).await.status, 204);
        assert_eq!(call("PUT", &format!("/v1/users/{}/mark-all-as-read", id(&me)), &NONE).await.status, 204);
        assert_eq!(apps.unread().await, [""; 0]);
    }
}
