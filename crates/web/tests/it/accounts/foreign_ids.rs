//! Somebody sends the ids of what is another's: each is as good as one that does not exist.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    Cluster,
    isolation::{MARK, ask_as_stranger, seen},
};
use crate::server::answer;

/// An id that nothing has.
const UNKNOWN: i64 = 987_654_321;

/// What a request names.
struct Named {
    feed: i64,
    folder: i64,
    entry: i64,
    webhook: i64,
}

/// What a stranger has.
struct Own {
    feed: i64,
    folder: i64,
    webhook: i64,
}

/// A route, with a request for it, and the status that there is for ids of nothing.
type Case = (&'static str, String, Value, u16);

/// Names hers and what is nowhere by every route that takes ids in its body or its query; returns these routes.
pub(super) async fn walk(
    cluster: &Cluster,
    stranger: &str,
    name: &str,
    things: &BTreeMap<&'static str, String>,
) -> BTreeSet<String> {
    let own = own_things(cluster, stranger, name).await;
    let before = seen(cluster, stranger).await;
    let id = |below: &str| things[below].parse().unwrap();
    let hers = Named {
        feed: id("/api/feeds"),
        folder: id("/api/folders"),
        entry: id("/api/entries"),
        webhook: id("/api/webhooks"),
    };
    let nowhere = Named { feed: UNKNOWN, folder: UNKNOWN, entry: UNKNOWN, webhook: UNKNOWN };
    let mut asked = BTreeSet::new();
    for ((route, path, body, status), (_, path_of_none, body_of_none, _)) in
        cases(&hers, &own).zip(cases(&nowhere, &own))
    {
        let (method, _) = route.split_once(' ').unwrap();
        let refused = ask_as_stranger(cluster, stranger, method, &path, &body).await;
        let expect = ask_as_stranger(cluster, stranger, method, &path_of_none, &body_of_none).await;
        assert_eq!((refused.status, expect.status), (status, status), "{route} {path} {body}: {refused:?}");
        assert_eq!(without_numbers(&refused.text), without_numbers(&expect.text), "{route} {path} {body}");
        asked.insert(route.to_owned());
    }
    assert_eq!(seen(cluster, stranger).await, before, "and what they have is as it was");
    asked
}

async fn own_things(cluster: &Cluster, cookie: &str, name: &str) -> Own {
    let opml = format!(r#"<opml><body><outline xmlUrl="https://{name}.example/feed"/></body></opml>"#);
    let import = cluster.as_browser(cookie, "POST", "/api/opml/import").header("content-type", "text/x-opml");
    answer(import.body(opml)).await.ok(200);
    let feeds = cluster.ask(cookie, "GET", "/api/feeds", &Value::Null).await.ok(200);
    let make =
        async |path: &str, body: Value| cluster.ask(cookie, "POST", path, &body).await.ok(201)["id"].as_i64().unwrap();
    Own {
        feed: feeds[0]["id"].as_i64().unwrap(),
        folder: make("/api/folders", json!({ "name": name })).await,
        webhook: make("/api/webhooks", json!({ "url": format!("https://{name}.example/hook") })).await,
    }
}

fn cases(named: &Named, own: &Own) -> impl Iterator<Item = Case> {
    let Named { feed, folder, entry, webhook } = named;
    let own_feed = format!("/api/feeds/{}", own.feed);
    let own_webhook = format!("/api/webhooks/{}", own.webhook);
    let hook = "https://mine.example/hook";
    let case = |route: &'static str, path: &str, body: Value, status: u16| (route, path.to_owned(), body, status);
    let bodies = [
        // Her feed can be followed, but not into a folder of hers.
        case(
            "POST /api/feeds",
            "/api/feeds",
            json!({ "url": format!("https://{MARK}.example/feed"), "folderId": folder }),
            404,
        ),
        case("PATCH /api/feeds/{id}", &own_feed, json!({ "folderId": folder }), 404),
        case("PATCH /api/folders/reorder", "/api/folders/reorder", json!({ "folderIds": [folder] }), 404),
        case("PATCH /api/folders/reorder", "/api/folders/reorder", json!({ "folderIds": [folder, own.folder] }), 404),
        case("POST /api/webhooks", "/api/webhooks", json!({ "url": hook, "feedIds": [feed] }), 404),
        case("POST /api/webhooks", "/api/webhooks", json!({ "url": hook, "feedIds": [own.feed, feed] }), 404),
        case("POST /api/webhooks", "/api/webhooks", json!({ "url": hook, "folderIds": [folder] }), 404),
        case("PATCH /api/webhooks/{id}", &own_webhook, json!({ "feedIds": [feed] }), 404),
        case("PATCH /api/webhooks/{id}", &own_webhook, json!({ "folderIds": [own.folder, folder] }), 404),
        case("POST /api/outbox/requeue", "/api/outbox/requeue", json!({ "webhookId": webhook }), 404),
        // Of many, those that do not exist are passed over.
        case("PATCH /api/entries", "/api/entries", json!({ "ids": [entry], "isRead": true }), 200),
        case("POST /api/entries/mark-read", "/api/entries/mark-read", json!({ "feedId": feed }), 200),
        case("POST /api/entries/mark-read", "/api/entries/mark-read", json!({ "folderId": folder }), 200),
    ];
    let queries = [
        ("GET /api/entries", format!("/api/entries?ids={entry}")),
        ("GET /api/entries", format!("/api/entries?feedId={feed}")),
        ("GET /api/entries", format!("/api/entries?folderId={folder}")),
        ("GET /api/outbox/deliveries", format!("/api/outbox/deliveries?webhookId={webhook}")),
    ];
    bodies.into_iter().chain(queries.map(|(route, path)| (route, path, Value::Null, 200)))
}

/// A sentence may repeat the id that it was asked for.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
