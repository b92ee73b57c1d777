//! What is heard, and by whom.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use web::{ServeLimits, WebSettings};

use super::{Events, Nodes};

/// Of this machine, as long as there is no password.
const HERE: &str = "";

#[tokio::test(flavor = "multi_thread")]
async fn u2_entries_of_another_node_arrive_with_counts() {
    for nodes in Nodes::on_each_store().await {
        let feed = nodes.feed(HERE, "news").await;
        let mut events = Events::begun(&nodes, HERE).await;
        for (name, value) in [
            ("content-type", "text/event-stream"),
            ("cache-control", "no-store"),
            ("x-accel-buffering", "no"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(events.response.headers()[name], value);
        }
        let begun = Instant::now();
        nodes.poll(feed, &["a", "b"]).await;
        let entries = events.until("entries").await;
        // Requirement U2: under a second, which is measured elsewhere. A busy machine is given more before it is said to fail.
        assert!(begun.elapsed() < Duration::from_mins(2), "{:?}", begun.elapsed());
        let ids = entries.data["ids"].as_array().unwrap().clone();
        assert_eq!(entries.data, json!({ "feedId": feed, "feedIds": [feed], "count": 2, "ids": ids }));
        assert_eq!(ids.len(), 2);
        let counts = events.until("counts").await;
        let expect = json!({ "total": 2, "starred": 0, "byFolder": {}, "byFeed": { feed.0.to_string(): 2 } });
        assert_eq!(counts.data, expect);
        assert!(counts.id > entries.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_marks_of_another_client_arrive_with_counts() {
    for nodes in Nodes::on_each_store().await {
        let feed = nodes.feed(HERE, "news").await;
        nodes.poll(feed, &["a", "b"]).await;
        let entry = nodes.ask(HERE, "GET", "/api/entries", &Value::Null).await.ok(200)["entries"][0]["id"].clone();
        let mut events = Events::begun(&nodes, HERE).await;
        let patch = json!({ "isRead": true, "isStarred": true });
        nodes.ask(HERE, "PATCH", &format!("/api/entries/{entry}"), &patch).await.ok(200);
        let marks = events.until("marks").await.data;
        assert_eq!(marks, json!({ "feedId": feed, "feedIds": [feed], "count": 1, "ids": [entry] }));
        let counts = events.until("counts").await.data;
        assert_eq!((&counts["total"], &counts["starred"]), (&json!(1), &json!(1)));
        nodes.ask(HERE, "POST", "/api/entries/mark-read", &json!({})).await.ok(200);
        assert_eq!(events.until("counts").await.data["byFeed"][feed.0.to_string()], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_feeds_folders_and_webhooks_are_told() {
    for nodes in Nodes::on_each_store().await {
        let mut events = Events::begun(&nodes, HERE).await;
        let feed = nodes.feed(HERE, "news").await;
        events.until("feed").await;
        nodes.poll(feed, &["a"]).await;
        assert_eq!(events.until("entries").await.data["feedId"], json!(feed), "it is known by then");
        let folder = nodes.ask(HERE, "POST", "/api/folders", &json!({ "name": "x" })).await.ok(201)["id"].clone();
        events.until("feed").await;
        let path = format!("/api/feeds/{}", feed.0);
        nodes.ask(HERE, "PATCH", &path, &json!({ "folderId": folder })).await.ok(200);
        loop {
            let counts = events.until("counts").await.data;
            if counts["byFolder"][folder.to_string()] == 1 {
                break;
            }
        }
        nodes.ask(HERE, "POST", "/api/webhooks", &json!({ "url": "https://r.example/" })).await.ok(201);
        events.until("delivery").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_stream_resumes_where_it_was_cut_off() {
    for nodes in Nodes::on_each_store().await {
        let feed = nodes.feed(HERE, "news").await;
        let mut events = Events::begun(&nodes, HERE).await;
        nodes.poll(feed, &["a"]).await;
        events.until("counts").await;
        let last = events.last_id;
        drop(events);
        nodes.poll(feed, &["a", "b", "c"]).await;
        nodes.ask(HERE, "POST", "/api/entries/mark-read", &json!({})).await.ok(200);
        // On another node, which has heard none of it.
        let by_parameter = nodes.two.request("GET", &format!("/api/events?lastEventId={last}"));
        let by_header = nodes.one.request("GET", "/api/events?lastEventId=0").header("last-event-id", last);
        for request in [by_parameter, by_header] {
            let mut resumed = Events::of(request).await;
            let entries = resumed.next().await.unwrap();
            assert_eq!((entries.name.as_str(), entries.id), ("entries", last), "told again if it is cut off after it");
            assert_eq!(entries.data["count"], 2);
            assert_eq!(resumed.next().await.unwrap().name, "marks");
            let counts = resumed.until("counts").await;
            assert_eq!(counts.data["total"], 0);
            assert!(counts.id > last);
            nodes.ask(HERE, "POST", "/api/folders", &json!({ "name": counts.id.to_string() })).await.ok(201);
            resumed.until("feed").await;
            nodes
                .ask(HERE, "PATCH", "/api/entries", &json!({ "ids": entries.data["ids"], "isRead": false }))
                .await
                .ok(200);
            resumed.until("marks").await;
            nodes.ask(HERE, "POST", "/api/entries/mark-read", &json!({})).await.ok(200);
            assert_eq!(resumed.until("marks").await.data["count"], 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_unknown_numbers_are_reset() {
    for nodes in Nodes::on_each_store().await {
        let feed = nodes.feed(HERE, "news").await;
        for given in ["-7", "999999999", "x"] {
            let request = nodes.one.request("GET", "/api/events").header("last-event-id", given);
            let mut events = Events::of(request).await;
            let reset = events.next().await.unwrap();
            assert_eq!((reset.name.as_str(), &reset.data), ("reset", &json!({})), "{given}");
            nodes.poll(feed, &[given]).await;
            assert!(events.until("entries").await.id >= reset.id);
        }
        let refused = nodes.one.get("/api/events?lastEventId=x").await.error(400);
        assert!(refused.contains("`lastEventId`"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_a1_nothing_of_another_account_is_heard() {
    for nodes in Nodes::on_each_store().await {
        let admin = nodes.lock().await;
        let (_, ann) = nodes.account(&admin, "ann").await;
        let (_, bob) = nodes.account(&admin, "bob").await;
        let shared = nodes.feed(&ann, "shared").await;
        assert_eq!(nodes.feed(&bob, "shared").await, shared);
        let hers = nodes.feed(&ann, "hers").await;
        let mut events = Events::begun(&nodes, &bob).await;
        let mut hears_all = Events::begun(&nodes, &admin).await;

        nodes.poll(hers, &["a", "b"]).await;
        nodes.poll(shared, &["c"]).await;
        nodes.ask(&ann, "POST", "/api/entries/mark-read", &json!({})).await.ok(200);
        nodes.ask(&ann, "POST", "/api/folders", &json!({ "name": "x" })).await.ok(201);
        nodes.ask(&ann, "POST", "/api/webhooks", &json!({ "url": "https://r.example/" })).await.ok(201);
        nodes.ask(&ann, "DELETE", &format!("/api/feeds/{}", hers.0), &Value::Null).await;
        nodes.ask(&bob, "POST", "/api/entries/mark-read", &json!({})).await.ok(200);

        let entries = events.next().await.unwrap();
        assert_eq!((entries.name.as_str(), &entries.data["feedIds"]), ("entries", &json!([shared])));
        assert_eq!(entries.data["count"], 1);
        loop {
            let event = events.next().await.unwrap();
            assert!(matches!(event.name.as_str(), "counts" | "marks" | "entries"), "{event:?}");
            assert!(
                event.data["byFeed"].as_object().is_none_or(|feeds| feeds.keys().all(|id| *id == shared.0.to_string()))
            );
            if event.name == "marks" {
                assert_eq!(event.data["count"], 1);
                break;
            }
        }
        let webhook = hears_all.until("delivery").await;
        assert_eq!(webhook.data, json!({}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_much_at_once_is_put_together() {
    let nodes = Nodes::on_sqlite().await;
    let feed = nodes.feed(HERE, "news").await;
    let mut events = Events::begun(&nodes, HERE).await;
    let guids: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    let begun = Instant::now();
    for (place, guid) in guids.iter().enumerate() {
        nodes.poll(feed, &[guid]).await;
        if place % 4 == 0 {
            nodes.ask(HERE, "POST", "/api/entries/mark-read", &json!({})).await.ok(200);
        }
    }
    nodes.ask(HERE, "POST", "/api/folders", &json!({ "name": "the end" })).await.ok(201);
    let (mut heard, mut entries) = (1, 0);
    loop {
        let event = events.next().await.unwrap();
        heard += 1;
        entries += if event.name == "entries" { event.data["count"].as_u64().unwrap() } else { 0 };
        if event.name == "feed" {
            break;
        }
    }
    assert_eq!(entries, 200, "none is left out");
    let most = 20 * (begun.elapsed().as_secs() + 1);
    assert!(heard <= most, "{heard} events where {most} may be");
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_streams_have_limits_and_places_of_their_own() {
    let settings = WebSettings { streams_max: 6, requests_max: 2, ..WebSettings::default() };
    let nodes = Nodes::on_sqlite_with(settings, ServeLimits { connections_max: 2, ..ServeLimits::default() }).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(Events::begun(&nodes, HERE).await);
    }
    let refused = nodes.one.get("/api/events").await;
    assert!(refused.error(503).contains("too many event streams"));
    // With more streams than connections and requests may be: others are answered, and no stream was closed for them.
    for _ in 0..3 {
        let stranger = crate::server::client();
        let answer = stranger.get(format!("{}/healthz", nodes.one.url)).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    nodes.one.send("POST", "/api/folders", r#"{"name":"x"}"#).await.ok(201);
    for events in &mut open {
        events.until("feed").await;
    }
    drop(open.pop());
    // Its place is free once the server has noticed.
    while nodes.one.get("/api/events").await.status != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_what_is_quiet_sends_heartbeats() {
    assert_eq!(WebSettings::default().heartbeat_every, Duration::from_secs(15), "as SPEC has it");
    let settings = WebSettings { heartbeat_every: Duration::from_millis(50), ..WebSettings::default() };
    let nodes = Nodes::on_sqlite_with(settings, ServeLimits::default()).await;
    let mut events = Events::begun(&nodes, HERE).await;
    for _ in 0..3 {
        // A comment for proxies, an event for the page. The number stays where nothing happens.
        let expect = format!(":\nevent: heartbeat\nid: {}\ndata: {{}}", events.last_id);
        assert_eq!(events.lines().await.unwrap(), expect);
    }
    nodes.ask(HERE, "POST", "/api/folders", &json!({ "name": "x" })).await.ok(201);
    events.until("feed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_client_that_reads_late_misses_nothing_without_a_word() {
    let nodes = Nodes::on_sqlite().await;
    let mut idle = Events::open(&nodes, HERE, "/api/events").await;
    let mut quick = Events::begun(&nodes, HERE).await;
    for name in 0..40 {
        nodes.ask(HERE, "POST", "/api/folders", &json!({ "name": name.to_string() })).await.ok(201);
        quick.until("feed").await;
    }
    // All that was sent lies in the connection, unless a machine that is too busy to send it has it load anew.
    let mut heard = 0;
    while heard < 40 {
        match idle.next().await.expect("it is not cut off").name.as_str() {
            "feed" => heard += 1,
            "reset" => break,
            _ => {}
        }
    }
    nodes.ask(HERE, "POST", "/api/folders", &json!({ "name": "last" })).await.ok(201);
    idle.until("feed").await;
}
