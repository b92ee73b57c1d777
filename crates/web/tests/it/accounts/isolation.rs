//! What is one account's is nobody else's, by whatever route.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use domain::{
    FeedId,
    account::READER,
    ingest::{Document, Hash, IncomingEntry, PollOutcome, PollResult},
};
use serde_json::{Value, json};

use super::{Cluster, foreign_ids, page_isolation};
use crate::{
    described::operations,
    observed::log,
    server::{Answer, answer},
};

/// In the name of all that Ann has.
pub(super) const MARK: &str = "zanzibar";

/// What strangers' requests are called in the log.
pub(super) const STRANGERS: &str = "stranger-of-zanzi";

/// Routes that answer everybody, each with what is its own or the same for all.
const READ_BY_ALL: [&str; 16] = [
    "GET /api/feeds",
    "GET /api/folders",
    "GET /api/entries",
    "GET /api/counts",
    "GET /api/opml/export",
    "GET /api/websub/subscriptions",
    "GET /api/webhooks",
    "GET /api/outbox/overview",
    "GET /api/outbox/deliveries",
    "GET /api/outbox/events",
    "GET /api/stats",
    "GET /api/sessions",
    "GET /api/tokens",
    "GET /api/account",
    "GET /api/account/settings",
    "GET /metrics",
];

/// Routes that are for administrators, with a body that would be taken from one. Nobody else is told whether the account is
/// there.
const ADMINS: [(&str, &str); 6] = [
    ("GET /api/accounts", "null"),
    ("POST /api/accounts", r#"{ "name": "eve", "password": "correct horse" }"#),
    ("GET /api/accounts/{id}", "null"),
    ("PATCH /api/accounts/{id}", r#"{ "isAdmin": true }"#),
    ("DELETE /api/accounts/{id}", "null"),
    ("POST /api/websub/renew", "null"),
];

/// Routes that change what is one's own, and name nothing else.
const OWN: [(&str, &str, u16); 4] = [
    ("POST /api/folders", r#"{ "name": "mine" }"#, 201),
    ("POST /api/tokens", r#"{ "name": "mine", "scope": "read" }"#, 201),
    ("PATCH /api/account", r#"{ "name": "Bob" }"#, 200),
    ("PATCH /api/account/settings", r#"{ "theme": "dark" }"#, 200),
];

/// Routes that are not asked here, each with its reason.
const EXEMPT: [(&str, &str); 12] = [
    ("GET /healthz", "open, and about no account"),
    ("GET /readyz", "open, and about no account"),
    ("GET /api/openapi.json", "open, and about no account"),
    ("POST /api/session", "open; whoever has the password gets a session: login.rs"),
    ("DELETE /api/session", "ends the session that it is asked by, and can name no other: login.rs"),
    ("GET /api/events", "has no end: u2_a1_nothing_of_another_account_is_heard"),
    ("POST /api/refresh", "polls her feed too: a1_a_refresh_tells_of_ones_own_feeds"),
    ("POST /api/opml/import", "names URLs alone: a1_f1_what_another_has_imported_is_not_there_before_it_was_fetched"),
    ("GET /api/websub/callback", "hubs have no account: push/callback.rs"),
    ("POST /api/websub/callback", "hubs have no account: push/callback.rs"),
    ("GET /api/websub/callback/{token}", "hubs have no account: push/callback.rs"),
    ("POST /api/websub/callback/{token}", "hubs have no account: push/callback.rs"),
];

/// Her things: by the route below which each is found, its id.
async fn things_of(cluster: &Cluster, ann: &str) -> BTreeMap<&'static str, String> {
    let make = async |path: &str, body: Value| cluster.ask(ann, "POST", path, &body).await.ok(201);
    let id = |made: &Value| made["id"].to_string().trim_matches('"').to_owned();
    let opml = format!(r#"<opml><body><outline text="{MARK}" xmlUrl="https://{MARK}.example/feed"/></body></opml>"#);
    let import = cluster.as_browser(ann, "POST", "/api/opml/import").header("content-type", "text/x-opml").body(opml);
    answer(import).await.ok(200);
    let feed = cluster.ask(ann, "GET", "/api/feeds", &Value::Null).await.ok(200)[0].clone();
    store_entry(cluster, FeedId(feed["id"].as_i64().unwrap())).await;
    let entries = cluster.ask(ann, "GET", "/api/entries", &Value::Null).await.ok(200);
    let folder = make("/api/folders", json!({ "name": MARK })).await;
    let webhook =
        make("/api/webhooks", json!({ "url": format!("https://{MARK}.example/hook"), "description": MARK })).await;
    let delivery = cluster.ask(ann, "POST", &format!("/api/webhooks/{}/test", id(&webhook)), &Value::Null).await;
    let token = make("/api/tokens", json!({ "name": MARK, "scope": "read" })).await;
    let sessions = cluster.ask(ann, "GET", "/api/sessions", &Value::Null).await.ok(200);
    BTreeMap::from([
        ("/api/feeds", id(&feed)),
        ("/api/entries", id(&entries["entries"][0])),
        ("/api/folders", id(&folder)),
        ("/api/webhooks", id(&webhook)),
        ("/api/outbox/deliveries", id(&delivery.ok(202))),
        ("/api/outbox/events", String::new()),
        ("/api/tokens", id(&token)),
        ("/api/sessions", id(&sessions[0])),
    ])
}

/// An entry of a feed, as a poll brings it.
async fn store_entry(cluster: &Cluster, feed: FeedId) {
    let job = cluster.store.claim_polls("test", &[feed], Duration::from_mins(1)).await.unwrap().remove(0);
    let entry = IncomingEntry {
        guid: "1".to_owned(),
        identity: Hash::of(b"1"),
        fingerprint: Hash::of(b"2"),
        title: Some(MARK.to_owned()),
        search_text: MARK.to_owned(),
        ..IncomingEntry::default()
    };
    let document = Document { title: Some(MARK.to_owned()), entries: vec![entry], ..Document::default() };
    let result = PollResult {
        feed_id: feed,
        lease: job.lease,
        claimed_at: job.claimed_at,
        next_check_in: Duration::from_hours(1),
        next_audit_in: Duration::from_hours(1),
        due_by: None,
        adaptive_secs: 3600,
        moved_to: None,
        outcome: PollOutcome::Fetched(document),
    };
    assert!(cluster.store.finish_polls(vec![result]).await.unwrap().remove(0).unwrap().applied);
}

/// What is sent to routes that need a body.
fn body(route: &str) -> Value {
    match route {
        "PATCH /api/feeds/{id}" => json!({ "title": "mine" }),
        "PATCH /api/folders/{id}" => json!({ "name": "mine" }),
        "PATCH /api/entries/{id}" => json!({ "isRead": true }),
        "PATCH /api/webhooks/{id}" => json!({ "description": "mine" }),
        "POST /api/webhooks/{id}/replay" => json!({ "since": "2026-01-01T00:00:00Z" }),
        route if route.ends_with("/cancel") => json!({}),
        _ => Value::Null,
    }
}

/// All that an account sees of itself.
pub(super) async fn seen(cluster: &Cluster, cookie: &str) -> Vec<String> {
    let paths =
        ["feeds", "folders", "entries", "counts", "webhooks", "outbox/deliveries", "tokens", "account", "opml/export"];
    let mut seen = Vec::new();
    for path in paths {
        seen.push(cluster.ask(cookie, "GET", &format!("/api/{path}"), &Value::Null).await.text);
    }
    seen
}

#[tokio::test]
async fn a1_nothing_of_another_account_is_found_by_any_route() {
    log();
    for (cluster, admin) in Cluster::each_locked().await {
        walk(cluster, admin).await;
    }
    let log = log();
    let told: Vec<&str> = log.lines().filter(|line| line.contains(STRANGERS)).collect();
    assert!(told.len() > 50, "requests are logged: {told:?}");
    // Neither for a stranger's request nor for her own: what she reads is not the log's. What the program never logs of the
    // database's client, these tests do.
    for line in log.lines().filter(|line| !line.contains("tokio_postgres")) {
        assert!(!line.contains(MARK), "{line}");
    }
}

/// Asks as somebody who must not find anything of hers.
pub(super) async fn ask_as_stranger(cluster: &Cluster, cookie: &str, method: &str, path: &str, body: &Value) -> Answer {
    let request = cluster.as_browser(cookie, method, path).header("x-request-id", STRANGERS);
    let answer = match body {
        Value::Null => answer(request).await,
        body => answer(request.header("content-type", "application/json").body(body.to_string())).await,
    };
    let shown = format!("{:?}{}", answer.headers, answer.text);
    assert!(!shown.contains(MARK), "{method} {path}: {shown}");
    answer
}

async fn walk(cluster: Cluster, admin: String) {
    let (account, ann) = cluster.account(&admin, "ann").await;
    let (_, bob) = cluster.account(&admin, "bob").await;
    let mut things = things_of(&cluster, &ann).await;
    things.insert("/api/outbox/events", things["/api/outbox/deliveries"].clone());
    let before = seen(&cluster, &ann).await;
    assert!(before.concat().contains(MARK));

    let document = cluster.server.get("/api/openapi.json").await.ok(200);
    let described = operations(&document);
    let mut asked: BTreeSet<String> = EXEMPT.iter().map(|(route, _)| (*route).to_owned()).collect();
    for route in &described {
        let (method, path) = route.split_once(' ').unwrap();
        if let Some((_, id)) = things.iter().find(|(below, _)| path.starts_with(&format!("{below}/{{id}}"))) {
            for stranger in [&bob, &admin] {
                let answer = ask_as_stranger(&cluster, stranger, method, &path.replace("{id}", id), &body(route)).await;
                assert_eq!(answer.status, 404, "{route}: {answer:?}");
            }
            asked.insert(route.clone());
        } else if READ_BY_ALL.contains(&&**route) {
            let query = if path == "/api/stats" { "?metric=deliveries" } else { "" };
            for stranger in [&bob, &admin] {
                let answer = ask_as_stranger(&cluster, stranger, method, &format!("{path}{query}"), &Value::Null).await;
                assert_eq!(answer.status, 200, "{route}: {answer:?}");
            }
            asked.insert(route.clone());
        }
    }
    for (route, given) in ADMINS {
        let (method, path) = route.split_once(' ').unwrap();
        let given = serde_json::from_str(given).unwrap();
        let path = path.replace("{id}", &account["id"].to_string());
        ask_as_stranger(&cluster, &bob, method, &path, &given).await.error(403);
        asked.insert(route.to_owned());
    }
    for (route, given, status) in OWN {
        let (method, path) = route.split_once(' ').unwrap();
        let given = serde_json::from_str(given).unwrap();
        let answer = ask_as_stranger(&cluster, &bob, method, path, &given).await;
        assert_eq!(answer.status, status, "{route}: {answer:?}");
        asked.insert(route.to_owned());
    }
    for (stranger, name) in [(&bob, "bob"), (&admin, "admin")] {
        asked.extend(foreign_ids::walk(&cluster, stranger, name, &things).await);
    }
    assert_eq!(described, asked, "a route that nobody asked, or that is gone: say here what a stranger gets");

    // What names nothing is about all that one has, and that is nothing of hers.
    let marked = ask_as_stranger(&cluster, &bob, "POST", "/api/entries/mark-read", &json!({})).await.ok(200);
    assert_eq!(marked, json!({ "marked": 0 }));
    let page = cluster.ask(&bob, "GET", &format!("/api/entries?q={MARK}"), &Value::Null).await.ok(200);
    assert_eq!(page["entries"], json!([]));
    page_isolation::walk(&cluster, account["id"].as_i64().unwrap(), &things, [&bob, &admin]).await;
    assert_eq!(seen(&cluster, &ann).await, before, "and nothing of hers has changed");
}

#[tokio::test]
async fn a1_f1_what_another_has_imported_is_not_there_before_it_was_fetched() {
    for (cluster, admin) in Cluster::each_locked().await {
        let (_, ann) = cluster.account(&admin, "ann").await;
        let file = format!(r#"<opml><body><outline text="{MARK}" xmlUrl="http://e.org/1"/></body></opml>"#);
        let import = cluster.as_browser(&ann, "POST", "/api/opml/import").header("content-type", "text/x-opml");
        answer(import.body(file)).await.ok(200);
        let wish = json!({ "url": "http://e.org/1" });
        ask_as_stranger(&cluster, &admin, "POST", "/api/feeds", &wish).await.error(502);
        assert_eq!(cluster.ask(&admin, "GET", "/api/feeds", &Value::Null).await.ok(200), json!([]));
    }
}

#[tokio::test]
async fn a1_a_refresh_tells_of_ones_own_feeds() {
    for (cluster, admin) in Cluster::each_locked().await {
        let (_, ann) = cluster.account(&admin, "ann").await;
        let opml = r#"<opml version="2.0"><body><outline xmlUrl="http://e.org/1"/></body></opml>"#;
        let import =
            cluster.as_browser(&admin, "POST", "/api/opml/import").header("content-type", "text/x-opml").body(opml);
        answer(import).await.ok(200);
        let told = cluster.ask(&ann, "POST", "/api/refresh", &Value::Null).await.ok(200);
        assert_eq!((&told["polled"], &told["failed"]), (&json!(0), &json!(0)), "{told}");
        assert!(cluster.store.feeds(READER).await.unwrap()[0].last_error.is_some(), "it was polled all the same");
    }
}
