//! A feed that names this server's own API as its hub.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Page, Publisher};

use super::until;
use crate::server::{Data, Place, Server};

#[tokio::test(flavor = "multi_thread")]
async fn u8_w1_feed_that_names_our_api_as_its_hub_reaches_nothing() {
    let (publisher, place, folder) = (Publisher::start().await, Place::reserve(), tempfile::tempdir().unwrap());
    let server = Server::start_at(&place, Data::Folder(folder.path()), &[]);
    let webhook = json!({ "url": publisher.url("/receiver") });
    let (status, webhook) = server.call(Method::POST, "/api/webhooks", Some(webhook)).await;
    assert_eq!(status, 201, "{webhook}");
    let (hub, topic) =
        (format!("{}/api/webhooks/{}/rotate-secret", place.url(), webhook["id"]), publisher.url("/feed"));
    let feed = format!(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title><link rel='hub' href='{hub}'/>\
         <link rel='self' href='{topic}'/><entry><id>urn:1</id><title>One</title></entry></feed>"
    );
    publisher.set("/feed", Page::body(feed).header("Content-Type", "application/atom+xml"));
    let (status, added) = server.call(Method::POST, "/api/feeds", Some(json!({ "url": topic }))).await;
    assert_eq!(status, 201, "{added}");
    let failed = async || {
        let all = server.get("/api/websub/subscriptions").await;
        let error = all.as_array().unwrap().iter().find_map(|subscription| subscription["lastError"].as_str());
        error.map(|error| Value::from(error.to_owned()))
    };
    let error = until("the hub to be asked", failed).await;
    assert!(error.as_str().unwrap().contains("is this server itself"), "{error}: {}", server.log());
}
