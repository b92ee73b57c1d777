//! One trace from a signed push, or a poll, to its webhook deliveries, received by a collector of OpenTelemetry
//! (requirement P5).

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{FreshPostgres, HubPush, Receipt, Receiver, fresh_postgres};

use super::{Scene, leasing, past::LEASE, subscription_becomes};
use crate::server::{Data, Place, Server};

const HOOK: &str = "/hook";
const TRACES: &str = "/v1/traces";
const METRICS: &str = "/v1/metrics";

/// The trace that a hub's request belongs to, and the step of it that the request is.
const HUB_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const HUB_SPAN: &str = "00f067aa0ba902b7";

/// The steps of a name that a collector got, each with the node that sent it.
fn spans(receipts: &[Receipt], name: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for receipt in receipts {
        let body: Value = serde_json::from_slice(receipt.body()).unwrap();
        let resource = &body["resourceSpans"][0];
        let node = attribute(&resource["resource"], "service.instance.id")["stringValue"].as_str().unwrap().to_owned();
        let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
        found.extend(spans.iter().filter(|span| span["name"] == name).map(|span| (node.clone(), span.clone())));
    }
    found
}

fn attribute(of: &Value, key: &str) -> Value {
    let attributes = of["attributes"].as_array().unwrap();
    attributes.iter().find(|attribute| attribute["key"] == key).unwrap()["value"].clone()
}

/// The first step of a name, once the collector has one, and the node that sent it.
async fn span(collector: &Receiver, name: &str) -> (String, Value) {
    let is_there = |receipts: &[Receipt]| !spans(receipts, name).is_empty();
    let receipts = collector.receipts(TRACES).wait_until(name, is_there).await;
    spans(&receipts, name).remove(0)
}

/// Has a webhook told of new entries, and follows a feed. Its URL and its id.
async fn follow(server: &Server, scene: &Scene, collector: &Receiver) -> (String, Value) {
    let webhook = json!({ "url": collector.url(HOOK), "eventTypes": ["entry.created"] });
    let (status, webhook) = server.call(Method::POST, "/api/webhooks", Some(webhook)).await;
    assert_eq!(status, 201, "{webhook}");
    let url = scene.publish("/feed", &["first"]);
    let (status, feed) = server.call(Method::POST, "/api/feeds", Some(json!({ "url": url }))).await;
    assert_eq!(status, 201, "{feed}");
    (url, feed["id"].clone())
}

/// Follows a feed at this server, and has this pushed to it: what the webhook got.
async fn push(server: &Server, scene: &Scene, collector: &Receiver, push: HubPush) -> Receipt {
    let (url, _) = follow(server, scene, collector).await;
    let held = scene.hub.subscribed(&url).await;
    subscription_becomes(server, "active").await;
    assert_eq!(scene.hub.push(&held, push).await.status, 204);
    collector.receipts(HOOK).wait_for(1).await.remove(0)
}

/// That a delivery is the next step after this one, and tells its receiver so. The node that sent it.
async fn assert_leads_to_delivery(step: &Value, hook: &Receipt, collector: &Receiver) -> String {
    assert!(!hook.text().contains("traceparent"), "the trace is in the header alone: {}", hook.text());
    let parent = hook.header("traceparent").expect("the delivery says which trace it is of");
    let (sender, delivery) = span(collector, "webhook delivery").await;
    assert_eq!(delivery["traceId"], step["traceId"]);
    assert_eq!(delivery["parentSpanId"], step["spanId"]);
    let own = format!("00-{}-{}-01", delivery["traceId"].as_str().unwrap(), delivery["spanId"].as_str().unwrap());
    assert_eq!(parent, own);
    assert_eq!(attribute(&delivery, "http.response.status_code"), json!({ "intValue": "200" }));
    assert_eq!(attribute(&delivery, "pirssonite.event.id"), json!({ "stringValue": hook.event_id() }));
    sender
}

/// Follows a push to its delivery. The nodes that took the push and sent the delivery.
async fn follow_a_push(server: &Server, scene: &Scene, collector: &Receiver) -> (String, String) {
    let hook = push(server, scene, collector, scene.push("/feed", &["pushed", "first"])).await;
    let (taker, push) = span(collector, "push").await;
    assert_eq!(attribute(&push, "pirssonite.entries.new"), json!({ "intValue": "1" }));
    (taker, assert_leads_to_delivery(&push, &hook, collector).await)
}

/// Events that are stored, and how many of them with their trace.
async fn stored(database: &FreshPostgres) -> (i64, i64) {
    let sql = "SELECT count(*), count(*) FILTER (WHERE feed LIKE '%traceparent%') FROM events";
    let row = database.client().await.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

async fn on_one_node(data: Data<'_>) {
    let (scene, collector, place) = (Scene::start().await, Receiver::start().await, Place::reserve());
    scene.hub.script(leasing(LEASE));
    let server = Server::start_at(&place, data, &["--otlp-endpoint", &collector.url("/")]);
    let (taker, sender) = follow_a_push(&server, &scene, &collector).await;
    assert_eq!(taker, sender);
    let metrics = collector.receipts(METRICS).wait_for(1).await.remove(0).text();
    assert!(metrics.contains("http_requests_total"), "{metrics}");
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_sqlite_push_is_followed_to_its_delivery() {
    let folder = tempfile::tempdir().unwrap();
    on_one_node(Data::Folder(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_postgres_push_is_followed_to_its_delivery() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    on_one_node(Data::Database(database.url(), folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_push_is_followed_to_its_delivery_on_another_node() {
    let (scene, collector, place) = (Scene::start().await, Receiver::start().await, Place::reserve());
    scene.hub.script(leasing(LEASE));
    let (database, folders) = (fresh_postgres().await, [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()]);
    let [web, worker] = folders.each_ref().map(|folder| Data::Database(database.url(), folder.path()));
    let endpoint = collector.url("/");
    let _worker =
        Server::start(worker, &["--role", "worker", "--base-url", &place.url(), "--otlp-endpoint", &endpoint]);
    let web = Server::start_at(&place, web, &["--role", "web", "--otlp-endpoint", &endpoint]);
    let (taker, sender) = follow_a_push(&web, &scene, &collector).await;
    assert_ne!(taker, sender);
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_poll_is_followed_to_its_delivery() {
    let (scene, collector, folder) = (Scene::start().await, Receiver::start().await, tempfile::tempdir().unwrap());
    let server = Server::start(Data::Folder(folder.path()), &["--otlp-endpoint", &collector.url("/")]);
    let (_, feed) = follow(&server, &scene, &collector).await;
    scene.publish("/feed", &["polled", "first"]);
    let (status, polled) = server.call(Method::POST, &format!("/api/feeds/{feed}/refresh"), None).await;
    assert_eq!(status, 200, "{polled}");
    let hook = collector.receipts(HOOK).wait_for(1).await.remove(0);
    let (_, poll) = span(&collector, "poll").await;
    assert_eq!(attribute(&poll, "pirssonite.feed.id"), json!({ "intValue": feed.to_string() }));
    assert_leads_to_delivery(&poll, &hook, &collector).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_trace_of_a_hub_goes_on() {
    let (scene, collector, place) = (Scene::start().await, Receiver::start().await, Place::reserve());
    scene.hub.script(leasing(LEASE));
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let data = Data::Database(database.url(), folder.path());
    let server = Server::start_at(&place, data, &["--otlp-endpoint", &collector.url("/")]);
    let pushed = scene.push("/feed", &["pushed", "first"]);
    let pushed = pushed.header("traceparent", &format!("00-{HUB_TRACE}-{HUB_SPAN}-01"));
    let hook = push(&server, &scene, &collector, pushed).await;
    let (_, push) = span(&collector, "push").await;
    assert_eq!((&push["traceId"], &push["parentSpanId"]), (&json!(HUB_TRACE), &json!(HUB_SPAN)));
    assert_leads_to_delivery(&push, &hook, &collector).await;
    assert_eq!(stored(&database).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_without_an_endpoint_no_trace_is_stored_or_sent() {
    let (scene, collector, place) = (Scene::start().await, Receiver::start().await, Place::reserve());
    scene.hub.script(leasing(LEASE));
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let server = Server::start_at(&place, Data::Database(database.url(), folder.path()), &[]);
    let pushed = scene.push("/feed", &["pushed", "first"]);
    let pushed = pushed.header("traceparent", &format!("00-{HUB_TRACE}-{HUB_SPAN}-01"));
    let hook = push(&server, &scene, &collector, pushed).await;
    assert_eq!(hook.header("traceparent"), None);
    assert_eq!(stored(&database).await, (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_collector_that_is_away_costs_nothing_but_spans() {
    let (scene, collector, place) = (Scene::start().await, Receiver::start().await, Place::reserve());
    scene.hub.script(leasing(LEASE));
    let folder = tempfile::tempdir().unwrap();
    let nobody = Place::reserve();
    let server = Server::start_at(&place, Data::Folder(folder.path()), &["--otlp-endpoint", &nobody.url()]);
    let webhook = json!({ "url": collector.url(HOOK), "eventTypes": ["entry.created"], "backlog": true });
    server.call(Method::POST, "/api/webhooks", Some(webhook)).await;
    let url = scene.publish("/feed", &["first"]);
    server.call(Method::POST, "/api/feeds", Some(json!({ "url": url }))).await;
    collector.receipts(HOOK).wait_for(1).await;
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
}
