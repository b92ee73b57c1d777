//! Streams end with their logins, and with the server.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Events, Nodes};

/// Nothing comes but the end.
async fn ends(events: &mut Events) {
    while let Some(event) = events.next().await {
        assert_ne!(event.name, "reset", "{event:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_a4_stream_ends_with_its_session_on_another_node() {
    for nodes in Nodes::on_each_store().await {
        let admin = nodes.lock().await;
        let (_, ann) = nodes.account(&admin, "ann").await;
        let other = nodes.log_in("ann").await;
        let mut events = Events::begun(&nodes, &ann).await;
        let mut stays = Events::begun(&nodes, &other).await;
        let ended = nodes.ask(&ann, "DELETE", "/api/session", &Value::Null).await;
        assert_eq!(ended.status, 204);
        ends(&mut events).await;
        let again = nodes.one.request("GET", "/api/events").header("cookie", &ann).send().await.unwrap();
        assert_eq!(again.status(), 401);
        nodes.ask(&other, "POST", "/api/folders", &json!({ "name": "x" })).await.ok(201);
        stays.until("feed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_a5_stream_ends_with_its_token_or_account() {
    for nodes in Nodes::on_each_store().await {
        let admin = nodes.lock().await;
        let (account, ann) = nodes.account(&admin, "ann").await;
        let new = json!({ "name": "a program", "scope": "read" });
        let token = nodes.ask(&ann, "POST", "/api/tokens", &new).await.ok(201);
        let by_token = nodes.one.request("GET", "/api/events").bearer_auth(token["token"].as_str().unwrap());
        let mut by_token = Events::of(by_token).await;
        let mut by_session = Events::begun(&nodes, &ann).await;
        nodes.ask(&ann, "DELETE", &format!("/api/tokens/{}", token["id"]), &Value::Null).await;
        ends(&mut by_token).await;
        nodes.ask(&admin, "DELETE", &format!("/api/accounts/{}", account["id"]), &Value::Null).await;
        ends(&mut by_session).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_a3_stream_without_a_login_ends_when_there_is_a_password() {
    for nodes in Nodes::on_each_store().await {
        let mut open = Events::begun(&nodes, "").await;
        let admin = nodes.lock().await;
        ends(&mut open).await;
        Events::begun(&nodes, &admin).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_a1_stream_ends_when_its_account_may_see_less() {
    for nodes in Nodes::on_each_store().await {
        let admin = nodes.lock().await;
        let (account, ann) = nodes.account(&admin, "ann").await;
        let path = format!("/api/accounts/{}", account["id"]);
        nodes.ask(&admin, "PATCH", &path, &json!({ "isAdmin": true })).await.ok(200);
        // What the first node knew of her is forgotten by then.
        while nodes.one.request("GET", "/api/accounts").header("cookie", &ann).send().await.unwrap().status() != 200 {
            tokio::task::yield_now().await;
        }
        let mut events = Events::begun(&nodes, &ann).await;
        nodes.ask(&admin, "PATCH", &path, &json!({ "isAdmin": false })).await.ok(200);
        ends(&mut events).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_streams_end_at_once_when_the_server_stops() {
    let mut nodes = Nodes::on_sqlite().await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(Events::begun(&nodes, "").await);
    }
    let begun = Instant::now();
    nodes.one.stop.cancel();
    for events in &mut open {
        ends(events).await;
    }
    (&mut nodes.one.task).await.unwrap().unwrap();
    assert!(begun.elapsed() < web::SHUTDOWN_MAX, "{:?}", begun.elapsed());
}
