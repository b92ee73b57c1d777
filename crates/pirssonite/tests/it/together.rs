//! Commands beside other commands, and beside others who change things (requirement U5).

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Gate, Page, Publisher};

use crate::{
    program::{Background, json_of, ok, on, stderr},
    server::{Data, Server},
};

/// More feeds than a refresh asks for at once.
const MANY: usize = 40;

fn feed(title: &str) -> String {
    format!("<rss><channel><title>{title}</title><item><guid>1</guid><title>One</title></item></channel></rss>")
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_commands_without_a_server_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let publisher = Publisher::start().await;
    let gate = Gate::default();
    publisher.set("/slow", Page::body(feed("Slow")).behind(&gate));
    publisher.set("/quick", Page::body(feed("Quick")));
    let (slow, quick) = (publisher.url("/slow"), publisher.url("/quick"));
    let both = |first: Background, mut second: Background, gate: &Gate| {
        second.says("another process uses");
        gate.open();
        for (status, _, said) in [first.end(), second.end()] {
            assert!(status.success(), "{said}");
        }
    };

    let first = Background::start(data, &["add", &slow]);
    publisher.asked("/slow", 1).await;
    both(first, Background::start(data, &["add", &quick]), &gate);
    assert_eq!(json_of(data, &["list", "--json"]).as_array().unwrap().len(), 2);

    let gate = Gate::default();
    publisher.set("/slow", Page::body(feed("Slower")).behind(&gate));
    let first = Background::start(data, &["refresh", "--all"]);
    publisher.asked("/slow", 2).await;
    both(first, Background::start(data, &["refresh", "--all"]), &gate);
    publisher.asked("/quick", 3).await;
    assert!(ok(data, &["list"]).contains("Slower"));
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_refresh_survives_removed_feed() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let publisher = Publisher::start().await;
    let server = Server::start(data, &["--host-concurrency", "64"]);
    let gate = Gate::default();
    for number in 0..MANY {
        let path = format!("/{number}");
        publisher.set(&path, Page::body(feed(&path)));
        let body = json!({ "url": publisher.url(&path) });
        assert_eq!(server.call(Method::POST, "/api/feeds", Some(body)).await.0, 201);
        publisher.set(&path, Page::body(feed(&format!("{path}, again"))).behind(&gate));
    }
    // They are asked for in the order of the list: when the first is, the last waits for its turn.
    let feeds = server.get("/api/feeds").await;
    let feeds: Vec<&Value> = feeds.as_array().unwrap().iter().collect();
    let path_of = |feed: &Value| feed["url"].as_str().unwrap().replace(&publisher.url(""), "");
    let (first, last) = (path_of(feeds[0]), feeds[MANY - 1]);
    let refresh = Background::start(data, &["refresh", "--all", "--json"]);
    publisher.asked(&first, 2).await;
    assert_eq!(server.call(Method::DELETE, &format!("/api/feeds/{}", last["id"]), None).await.0, 204);
    gate.open();
    let (status, printed, said) = refresh.end();
    assert!(status.success(), "{said}");
    let summary: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&summary["polled"], &summary["failed"]), (&json!(MANY - 1), &json!(0)), "{summary} {said}");
    assert_eq!((publisher.requests(&path_of(last)).len(), said.as_str()), (1, ""));

    // One that was asked for by name is missed, and the others are polled all the same.
    let (gone, there) = (last["id"].to_string(), feeds[0]["id"].to_string());
    let named = on(data, &["refresh", &gone, &there]);
    assert_eq!(named.status.code(), Some(1));
    assert!(stderr(&named).contains(&format!("there is no feed {gone}")), "{}", stderr(&named));
    publisher.asked(&first, 3).await;
}
