//! Miniflux's API, call by call: who asks, feeds, categories, files. Entries are beside this.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::filled::{Apps, id, refused, sorted, texts};
use crate::{
    accounts::PASSWORD,
    page::icons::{PNG, find_icons},
    server::{Answer, answer},
};

/// The category of feeds without a folder.
const ALL: i64 = 2_147_483_647;

const NONE: Value = Value::Null;

async fn as_who(apps: &Apps, headers: &[(&str, String)]) -> Answer {
    let request = apps.server.request("GET", "/v1/me");
    answer(headers.iter().fold(request, |request, (name, value)| request.header(*name, value))).await
}

#[tokio::test]
async fn s3_a_token_or_a_name_with_password_or_token_opens() {
    for apps in Apps::each().await {
        let basic = |name: &str, secret: &str| format!("Basic {}", STANDARD.encode(format!("{name}:{secret}")));
        let token = apps.token.clone();
        for headers in [
            vec![("x-auth-token", token.clone())],
            vec![("authorization", format!("Bearer {token}"))],
            vec![("authorization", basic("reader", &token))],
            vec![("authorization", basic("reader", PASSWORD))],
            vec![("authorization", basic("READER", PASSWORD))],
        ] {
            let me = as_who(&apps, &headers).await.ok(200);
            assert_eq!((&me["username"], &me["id"], &me["is_admin"]), (&json!("reader"), &json!(1), &json!(true)));
        }
        let ann = apps.other_token().await;
        for headers in [
            vec![],
            vec![("cookie", apps.cookie.clone())],
            vec![("x-auth-token", "wrong".to_owned())],
            vec![("x-auth-token", String::new())],
            vec![("authorization", basic("reader", &ann))],
            vec![("authorization", "Basic ?".to_owned())],
        ] {
            let answer = as_who(&apps, &headers).await;
            assert_eq!(refused(&answer, 401), "access unauthorized", "{headers:?}");
            assert!(answer.header("www-authenticate").starts_with("Basic"));
        }
        let wrong = as_who(&apps, &[("authorization", basic("reader", "wrong"))]).await;
        assert_eq!(refused(&wrong, 401), "access unauthorized");
    }
}

#[tokio::test]
async fn s3_a_token_for_reading_changes_nothing() {
    for apps in Apps::each().await {
        let token = apps.new_token("read").await;
        let call = async |method: &str, path: &str| {
            let request = apps.server.request(method, path);
            answer(request.header("x-auth-token", &token)).await
        };
        call("GET", "/v1/feeds").await.ok(200);
        refused(&call("PUT", "/v1/users/1/mark-all-as-read").await, 403);
        refused(&call("DELETE", &format!("/v1/feeds/{}", apps.alpha)).await, 403);
        assert_eq!(apps.unread().await.len(), 5);
    }
}

#[tokio::test]
async fn s3_web_pages_of_other_sites_may_ask_with_a_key_of_their_own() {
    for apps in Apps::each().await {
        let from_page = |method: &str, path: &str| {
            apps.server
                .request(method, path)
                .header("origin", "https://reader.example")
                .header("sec-fetch-site", "cross-site")
        };
        let asked = from_page("OPTIONS", "/v1/entries")
            .header("access-control-request-method", "PUT")
            .header("access-control-request-headers", "x-auth-token");
        let preflight = answer(asked).await;
        assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (200, "*"));
        assert!(preflight.header("access-control-allow-methods").contains("PUT"));
        assert!(preflight.header("access-control-allow-headers").contains("X-Auth-Token"));
        assert!(preflight.headers.get("access-control-allow-credentials").is_none(), "never with cookies");
        let feeds = answer(from_page("GET", "/v1/feeds").header("x-auth-token", &apps.token)).await;
        assert_eq!((feeds.status, feeds.header("access-control-allow-origin")), (200, "*"));
        let marked = from_page("PUT", "/v1/users/1/mark-all-as-read").header("x-auth-token", &apps.token);
        assert_eq!(answer(marked).await.status, 204);
        let unknown = answer(from_page("GET", "/v1/nothing").header("x-auth-token", &apps.token)).await;
        assert_eq!(unknown.header("access-control-allow-origin"), "*");
        assert_eq!(refused(&unknown, 404), "resource not found");
        let with_cookie = answer(from_page("GET", "/v1/feeds").header("cookie", &apps.cookie)).await;
        assert_eq!((with_cookie.status, with_cookie.header("access-control-allow-origin")), (401, "*"));
    }
}

/// What a browser knows for a server it adds by itself, whichever page asks.
#[tokio::test]
async fn a4_foreign_pages_change_nothing_by_a_name_and_a_password() {
    for apps in Apps::each().await {
        let basic = format!("Basic {}", STANDARD.encode(format!("reader:{PASSWORD}")));
        let post = async |kind: &str, headers: &[(&str, &str)]| {
            let request = apps.server.request("POST", "/v1/categories").header("content-type", kind);
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            answer(request.body(json!({ "title": kind }).to_string())).await
        };
        let (by_name, by_token) = (("authorization", basic.as_str()), ("x-auth-token", apps.token.as_str()));
        let own = ("origin", apps.server.url.as_str());
        let foreign = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
            for page in [&foreign[..1], &foreign[1..], &foreign[..]] {
                refused(&post(kind, &[&[by_name][..], page].concat()).await, 403);
            }
        }
        for (kind, headers) in [
            ("application/json", vec![by_name, foreign[0], foreign[1]]),
            ("text/plain", vec![by_token, foreign[0], foreign[1]]),
            ("text/plain; of=own", vec![by_name, own]),
            ("text/plain; of=programs", vec![by_name]),
        ] {
            assert_eq!(post(kind, &headers).await.status, 201, "{kind} {headers:?}");
        }
        // Nobody asks a browser's user for them.
        for (header, value) in [("accept", "text/html,*/*;q=0.8"), ("sec-fetch-site", "none"), foreign[0]] {
            let refused = as_who(&apps, &[(header, value.to_owned())]).await;
            assert_eq!((refused.status, refused.header("www-authenticate")), (401, ""), "{header}");
        }
    }
}

#[tokio::test]
async fn s3_users_are_oneself() {
    for apps in Apps::each().await {
        apps.other_token().await;
        for own in ["/me", "/users/1", "/users/reader"] {
            assert_eq!(apps.v1_get(own).await["username"], "reader", "{own}");
        }
        assert_eq!(texts(&apps.v1_get("/users").await, "username"), ["reader"]);
        for other in ["/users/2", "/users/ann", "/users/99", "/users/nobody"] {
            assert_eq!(refused(&apps.v1("GET", other, &NONE).await, 404), "resource not found", "{other}");
        }
        refused(&apps.v1("POST", "/users", &json!({ "username": "x", "password": "y" })).await, 403);
        refused(&apps.v1("DELETE", "/users/1", &NONE).await, 403);
        assert_eq!(apps.v1("PUT", "/users/1", &json!({ "theme": "dark" })).await.ok(201)["username"], "reader");
        refused(&apps.v1("PUT", "/users/2", &json!({ "theme": "dark" })).await, 404);
        refused(&apps.v1("PUT", "/users/2/mark-all-as-read", &NONE).await, 404);
        assert_eq!(apps.v1("PUT", "/users/1/mark-all-as-read", &NONE).await.status, 204);
        assert_eq!(apps.unread().await, [""; 0]);
        assert!(apps.v1_get("/version").await["version"].as_str().unwrap().starts_with("2."));
        for path in ["/integrations/status", "/users/integrations/status"] {
            assert_eq!(apps.v1_get(path).await, json!({ "has_integrations": false }));
        }
    }
}

#[tokio::test]
async fn s3_api_keys_are_tokens() {
    for apps in Apps::each().await {
        let body = json!({ "description": "an app" });
        let key = apps.v1_basic("POST", "/api-keys", &body).await.ok(201);
        assert_eq!(key["description"], "an app");
        let secret = key["token"].as_str().unwrap();
        assert_eq!(as_who(&apps, &[("x-auth-token", secret.to_owned())]).await.ok(200)["username"], "reader");
        refused(&apps.v1("POST", "/api-keys", &body).await, 403);
        let listed = apps.v1_get("/api-keys").await;
        assert!(listed.as_array().unwrap().iter().any(|one| one["id"] == key["id"] && one["token"] == ""), "{listed}");
        let path = format!("/api-keys/{}", key["id"]);
        refused(&apps.v1("DELETE", &path, &NONE).await, 403);
        assert_eq!(apps.v1_basic("DELETE", &path, &NONE).await.status, 204);
        refused(&apps.v1_basic("DELETE", &path, &NONE).await, 404);
        refused(&as_who(&apps, &[("x-auth-token", secret.to_owned())]).await, 401);
        refused(&apps.v1_basic("POST", "/api-keys", &json!({})).await, 400);
    }
}

#[tokio::test]
async fn s3_feeds_are_listed_with_their_categories() {
    for apps in Apps::each().await {
        let feeds = apps.v1_get("/feeds").await;
        assert_eq!(texts(&feeds, "title"), ["Alpha", "Beta"]);
        let alpha = &feeds[0];
        assert_eq!(
            alpha["category"],
            json!({ "id": apps.news, "title": "News", "user_id": 1, "hide_globally": false })
        );
        assert_eq!((&feeds[1]["category"]["id"], &feeds[1]["category"]["title"]), (&json!(ALL), &json!("All")));
        assert!(
            alpha["feed_url"].as_str().unwrap().ends_with("/alpha.xml") && alpha["checked_at"].is_string(),
            "{alpha}"
        );
        assert_eq!((&alpha["site_url"], &alpha["parsing_error_count"]), (&json!("https://news.example/"), &json!(0)));
        assert_eq!(apps.v1_get(&format!("/feeds/{}", apps.alpha)).await, *alpha);
        for (path, status) in [("/feeds/999999", 404), ("/feeds/x", 400), ("/feeds/0", 400)] {
            refused(&apps.v1("GET", path, &NONE).await, status);
        }
        let (alpha, beta) = (apps.alpha.to_string(), apps.beta.to_string());
        assert_eq!(
            apps.v1_get("/feeds/counters").await,
            json!({ "reads": { &alpha: 1, &beta: 0 }, "unreads": { &alpha: 2, &beta: 3 } })
        );
        for icon in [format!("/feeds/{alpha}/icon"), "/icons/999999".to_owned()] {
            refused(&apps.v1("GET", &icon, &NONE).await, 404);
        }
    }
}

#[tokio::test]
async fn s3_icons_come_by_their_feeds_and_by_their_own_ids() {
    for apps in Apps::each().await {
        let path = format!("/feeds/{}", apps.alpha);
        assert_eq!(apps.v1_get(&path).await["icon"], NONE);
        find_icons(&*apps.store).await;
        let icon = apps.v1_get(&format!("{path}/icon")).await;
        let data = format!("image/png;base64,{}", STANDARD.encode(PNG));
        assert_eq!((&icon["mime_type"], &icon["data"]), (&json!("image/png"), &json!(data)));
        let of_feed = json!({ "feed_id": apps.alpha, "icon_id": icon["id"], "external_icon_id": "" });
        assert_eq!(apps.v1_get(&path).await["icon"], of_feed);
        let by_id = format!("/icons/{}", icon["id"]);
        assert_eq!(apps.v1_get(&by_id).await, icon);
        let ann = apps.other_token().await;
        for path in [format!("{path}/icon"), by_id] {
            let request = apps.server.request("GET", &format!("/v1{path}")).header("x-auth-token", &ann);
            refused(&answer(request).await, 404);
        }
    }
}

#[tokio::test]
async fn s3_feeds_are_added_changed_and_removed() {
    for apps in Apps::each().await {
        let url = apps.publish("Gamma", 1);
        let added =
            apps.v1("POST", "/feeds", &json!({ "feed_url": url, "category_id": apps.news, "crawler": true })).await;
        let gamma = added.ok(201)["feed_id"].as_i64().unwrap();
        let path = format!("/feeds/{gamma}");
        assert_eq!(apps.v1_get(&path).await["category"]["id"], apps.news);
        let again = apps.v1("POST", "/feeds", &json!({ "feed_url": url })).await;
        assert_eq!(refused(&again, 400), "this feed already exists");
        let body = json!({ "title": "Renamed", "category_id": ALL, "feed_url": url, "hide_globally": false });
        for _ in 0..2 {
            let changed = apps.v1("PUT", &path, &body).await.ok(201);
            assert_eq!((&changed["title"], &changed["category"]["id"]), (&json!("Renamed"), &json!(ALL)));
        }
        let kept = apps.v1("PUT", &path, &json!({ "title": "", "unknown": 1 })).await.ok(201);
        assert_eq!(kept["title"], "Renamed");
        for (body, expect) in [
            (json!({ "category_id": 999_999 }), "category"),
            (json!({ "feed_url": "ftp://e.org" }), "URL"),
            (json!({ "title": "x".repeat(501) }), "longer"),
            (json!({ "feed_url": apps.publisher.url("/alpha.xml") }), "another feed"),
        ] {
            let problem = refused(&apps.v1("PUT", &path, &body).await, 400);
            assert!(problem.contains(expect), "{body}: {problem}");
        }
        apps.publish("Gamma", 2);
        assert_eq!(apps.v1("PUT", &format!("{path}/refresh"), &NONE).await.status, 204);
        assert_eq!(apps.entry("Gamma 2").await["feedId"], gamma);
        assert_eq!(apps.v1("PUT", &format!("{path}/mark-all-as-read"), &NONE).await.status, 204);
        assert_eq!(apps.unread().await.len(), 5);
        assert_eq!(apps.v1("DELETE", &path, &NONE).await.status, 204);
        for (method, path) in
            [("DELETE", path.clone()), ("PUT", format!("{path}/refresh")), ("PUT", format!("{path}/mark-all-as-read"))]
        {
            refused(&apps.v1(method, &path, &NONE).await, 404);
        }
        refused(&apps.v1("PUT", &path, &json!({ "title": "x" })).await, 404);
        assert_eq!(apps.v1("PUT", "/feeds/refresh", &NONE).await.status, 204);
    }
}

#[tokio::test]
async fn s3_what_is_no_feed_is_not_added() {
    for apps in Apps::each().await {
        apps.publisher.set("/page", testkit::Page::body("<title>x</title>").header("content-type", "text/html"));
        for body in [
            json!({ "feed_url": apps.publisher.url("/page") }),
            json!({ "feed_url": "http://127.0.0.1:1/" }),
            json!({ "feed_url": "not a url" }),
            json!({ "feed_url": "" }),
            json!({}),
            json!({ "feed_url": apps.publish("Gamma", 1), "category_id": 999_999 }),
        ] {
            refused(&apps.v1("POST", "/feeds", &body).await, 400);
        }
        let bad = apps.server.request("POST", "/v1/feeds").header("x-auth-token", &apps.token).body("{");
        refused(&answer(bad).await, 400);
        assert_eq!(apps.v1_get("/feeds").await.as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn s3_feeds_are_discovered() {
    for apps in Apps::each().await {
        let url = apps.publish("Gamma", 1);
        let page = r#"<!doctype html><title>p</title><link rel="alternate" type="application/rss+xml" title="G" href="/gamma.xml">"#;
        apps.publisher.set("/page.html", testkit::Page::body(page).header("content-type", "text/html"));
        let discover = async |url: &str| apps.v1("POST", "/discover", &json!({ "url": url })).await;
        let found = discover(&apps.publisher.url("/page.html")).await.ok(200);
        assert_eq!(found, json!([{ "url": url, "title": "G", "type": "rss" }]));
        assert_eq!(texts(&discover(&url).await.ok(200), "title"), ["Gamma"]);
        assert_eq!(
            texts(&discover(&apps.publisher.url("/alpha.xml")).await.ok(200), "title"),
            ["Alpha"],
            "also one that is followed"
        );
        apps.publisher.set("/empty", testkit::Page::body("<title>x</title>").header("content-type", "text/html"));
        refused(&discover(&apps.publisher.url("/empty")).await, 404);
        refused(&discover("http://127.0.0.1:1/").await, 400);
        refused(&discover("").await, 400);
        assert_eq!(apps.v1_get("/feeds").await.as_array().unwrap().len(), 2, "nothing was followed");
    }
}

#[tokio::test]
async fn s3_categories_are_folders() {
    for apps in Apps::each().await {
        assert_eq!(texts(&apps.v1_get("/categories").await, "title"), ["All", "News"]);
        let made = apps.v1("POST", "/categories", &json!({ "title": "Fresh" })).await.ok(201);
        let path = format!("/categories/{}", made["id"]);
        for (body, expect) in [
            (json!({ "title": "Fresh" }), "already exists"),
            (json!({ "title": " " }), "mandatory"),
            (json!({}), "mandatory"),
            (json!({ "title": "x".repeat(201) }), "longer"),
        ] {
            let problem = refused(&apps.v1("POST", "/categories", &body).await, 400);
            assert!(problem.contains(expect), "{problem}");
        }
        let renamed = apps.v1("PUT", &path, &json!({ "id": made["id"], "title": "Fresher" })).await.ok(201);
        assert_eq!(renamed["title"], "Fresher");
        refused(&apps.v1("PUT", &path, &json!({ "title": "News" })).await, 400);
        refused(&apps.v1("PUT", "/categories/999999", &json!({ "title": "x" })).await, 404);
        assert_eq!(apps.v1_get(&format!("{path}/feeds")).await, json!([]));
        assert_eq!(texts(&apps.v1_get(&format!("/categories/{}/feeds", apps.news)).await, "title"), ["Alpha"]);
        assert_eq!(texts(&apps.v1_get(&format!("/categories/{ALL}/feeds")).await, "title"), ["Beta"]);
        let counted = apps.v1_get("/categories?counts=true").await;
        assert_eq!((&counted[0]["feed_count"], &counted[0]["total_unread"]), (&json!(1), &json!(3)));
        assert_eq!((&counted[1]["feed_count"], &counted[1]["total_unread"]), (&json!(1), &json!(2)));
        assert_eq!(apps.v1("PUT", &format!("{path}/refresh"), &NONE).await.status, 204);
        assert_eq!(apps.v1("DELETE", &path, &NONE).await.status, 204);
        for (method, path) in [
            ("DELETE", path.clone()),
            ("GET", format!("{path}/feeds")),
            ("PUT", format!("{path}/mark-all-as-read")),
            ("PUT", format!("{path}/refresh")),
        ] {
            refused(&apps.v1(method, &path, &NONE).await, 404);
        }
        refused(&apps.v1("DELETE", &format!("/categories/{ALL}"), &NONE).await, 400);
        refused(&apps.v1("PUT", &format!("/categories/{ALL}"), &json!({ "title": "x" })).await, 400);
    }
}

#[tokio::test]
async fn s3_categories_are_marked_read() {
    for apps in Apps::each().await {
        assert_eq!(apps.v1("PUT", &format!("/categories/{ALL}/mark-all-as-read"), &NONE).await.status, 204);
        assert_eq!(apps.unread().await, ["Alpha 1", "Alpha 3"]);
        assert_eq!(apps.v1("PUT", &format!("/categories/{}/mark-all-as-read", apps.news), &NONE).await.status, 204);
        assert_eq!(apps.unread().await, [""; 0]);
    }
}

#[tokio::test]
async fn s3_opml_goes_out_and_in() {
    for apps in Apps::each().await {
        let file = apps.v1("GET", "/export", &NONE).await;
        assert_eq!(file.status, 200);
        assert!(file.text.contains("/alpha.xml") && file.header("content-type").starts_with("text/xml"), "{file:?}");
        let url = apps.publish("Delta", 1);
        let opml = format!(
            r#"<opml version="2.0"><body><outline text="Imported"><outline type="rss" text="Delta" xmlUrl="{url}"/></outline></body></opml>"#
        );
        let import = async |body: String| {
            let request = apps.server.request("POST", "/v1/import").header("x-auth-token", &apps.token);
            answer(request.body(body)).await
        };
        for _ in 0..2 {
            import(opml.clone()).await.ok(201);
        }
        let feeds = apps.v1_get("/feeds").await;
        let delta = feeds.as_array().unwrap().iter().find(|feed| feed["feed_url"] == url.as_str()).unwrap();
        assert_eq!(delta["category"]["title"], "Imported");
        refused(&import("no file".to_owned()).await, 400);
    }
}

#[tokio::test]
async fn s3_nothing_of_another_account_is_there() {
    for apps in Apps::each().await {
        let token = apps.other_token().await;
        let entry = apps.id_of("Alpha 1").await;
        let call = async |method: &str, path: &str, body: Value| {
            let request = apps.server.request(method, &format!("/v1{path}")).header("x-auth-token", &token);
            answer(request.header("content-type", "application/json").body(body.to_string())).await
        };
        assert_eq!(call("GET", "/feeds", NONE).await.ok(200), json!([]));
        assert_eq!(texts(&call("GET", "/categories", NONE).await.ok(200), "title"), ["All"]);
        assert_eq!(call("GET", "/entries", NONE).await.ok(200), json!({ "total": 0, "entries": [] }));
        let (feed, news) = (apps.alpha, apps.news);
        for (method, path) in [
            ("GET", format!("/feeds/{feed}")),
            ("PUT", format!("/feeds/{feed}")),
            ("DELETE", format!("/feeds/{feed}")),
            ("PUT", format!("/feeds/{feed}/refresh")),
            ("PUT", format!("/feeds/{feed}/mark-all-as-read")),
            ("GET", format!("/feeds/{feed}/icon")),
            ("GET", format!("/feeds/{feed}/entries/{entry}")),
            ("GET", format!("/categories/{news}/feeds")),
            ("DELETE", format!("/categories/{news}")),
            ("PUT", format!("/categories/{news}/mark-all-as-read")),
            ("GET", format!("/entries/{entry}")),
            ("PUT", format!("/entries/{entry}/bookmark")),
            ("GET", format!("/entries/{entry}/fetch-content")),
            ("GET", format!("/enclosures/{}", entry * 64)),
        ] {
            refused(&call(method, &path, json!({})).await, 404);
        }
        for path in [format!("/feeds/{feed}/entries"), format!("/categories/{news}/entries")] {
            refused(&call("GET", &path, NONE).await, 400);
        }
        assert_eq!(call("PUT", "/entries", json!({ "entry_ids": [entry], "status": "read" })).await.status, 204);
        assert_eq!((apps.unread().await.len(), apps.marks("Alpha 1").await), (5, (false, false)));
        assert_eq!(sorted(texts(&apps.v1_get("/feeds").await, "title")), ["Alpha", "Beta"]);
        assert!(id(&apps.v1_get("/feeds").await[0]) > 0);
    }
}

#[tokio::test]
async fn s3_what_there_is_not_is_an_error_that_clients_read() {
    for apps in Apps::each().await {
        assert_eq!(apps.v1("GET", "/nothing", &NONE).await.status, 404);
        let method = apps.v1("DELETE", "/me", &NONE).await;
        assert!(!refused(&method, 405).is_empty());
    }
}
