//! One trace from a signed push to its webhook deliveries, received by a collector of OpenTelemetry (requirement P5).

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Receipt, Receiver, fresh_postgres};

use super::{Scene, leasing, past::LEASE, subscription_becomes};
use crate::server::{Data, Place, Server};

const HOOK: &str = "/hook";
const TRACES: &str = "/v1/traces";
const METRICS: &str = "/v1/metrics";

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

/// Follows a feed at this server, has it pushed to, and follows the push to its delivery. The nodes that took the push and
/// sent the delivery.
async fn follow_a_push(server: &Server, scene: &Scene, collector: &Receiver) -> (String, String) {
    let webhook = json!({ "url": collector.url(HOOK), "eventTypes": ["entry.created"] });
    let (status, webhook) = server.call(Method::POST, "/api/webhooks", Some(webhook)).await;
    assert_eq!(status, 201, "{webhook}");
    let url = scene.publish("/feed", &["first"]);
    let (status, feed) = server.call(Method::POST, "/api/feeds", Some(json!({ "url": url }))).await;
    assert_eq!(status, 201, "{feed}");
    let held = scene.hub.subscribed(&url).await;
    subscription_becomes(server, "active").await;
    assert_eq!(scene.hub.push(&held, scene.push("/feed", &["pushed", "first"])).await.status, 204);

    let hook = collector.receipts(HOOK).wait_for(1).await.remove(0);
    assert!(!hook.text().contains("traceparent"), "the trace is in the header alone: {}", hook.text());
    let parent = hook.header("traceparent").expect("the delivery says which trace it is of").to_owned();
    let is_there = |receipts: &[Receipt]| !spans(receipts, "webhook delivery").is_empty();
    let receipts = collector.receipts(TRACES).wait_until("a delivery", is_there).await;
    let (sender, delivery) = spans(&receipts, "webhook delivery").remove(0);
    let is_there = |receipts: &[Receipt]| !spans(receipts, "push").is_empty();
    let receipts = collector.receipts(TRACES).wait_until("a push", is_there).await;
    let (taker, push) = spans(&receipts, "push").remove(0);

    assert_eq!(delivery["traceId"], push["traceId"]);
    assert_eq!(delivery["parentSpanId"], push["spanId"]);
    let own = format!("00-{}-{}-01", delivery["traceId"].as_str().unwrap(), delivery["spanId"].as_str().unwrap());
    assert_eq!(parent, own);
    assert_eq!(attribute(&push, "pirssonite.entries.new"), json!({ "intValue": "1" }));
    assert_eq!(attribute(&delivery, "http.response.status_code"), json!({ "intValue": "200" }));
    assert_eq!(attribute(&delivery, "pirssonite.event.id"), json!({ "stringValue": hook.event_id() }));
    (taker, sender)
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
