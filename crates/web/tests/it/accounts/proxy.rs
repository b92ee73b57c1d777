//! A proxy that logs people in: its word is taken, and nobody else's.

use reqwest::RequestBuilder;
use serde_json::json;
use web::WebSettings;

use super::Cluster;
use crate::server::answer;

const HEADER: &str = "remote-user";

fn settings(trusted: &[&str]) -> WebSettings {
    WebSettings {
        trusted_proxies: trusted.iter().map(|network| network.parse().unwrap()).collect(),
        auth_proxy_header: Some(web::HeaderName::from_static(HEADER)),
        ..WebSettings::default()
    }
}

fn named(cluster: &Cluster, name: &str) -> RequestBuilder {
    cluster.server.request("GET", "/api/account").header(HEADER, name)
}

#[tokio::test]
async fn a4_a_trusted_proxy_names_the_account() {
    let (cluster, cookie) = Cluster::locked_with(settings(&["127.0.0.0/8"])).await;
    cluster.account(&cookie, "Ben Lee").await;
    assert_eq!(answer(named(&cluster, "ben lee")).await.ok(200)["name"], "Ben Lee");
    assert_eq!(answer(named(&cluster, "reader")).await.ok(200)["name"], "reader");
    let unknown = answer(named(&cluster, "nobody")).await;
    assert_eq!(unknown.error(401), cluster.server.get("/api/account").await.error(401));
    answer(named(&cluster, "")).await.error(401);
    answer(named(&cluster, "reader").header(HEADER, "ben lee")).await.error(401);
    // What a browser sends by itself needs our origin, whoever logs it in.
    let change = |origin: Option<&str>| {
        let request = cluster.server.request("POST", "/api/folders").header(HEADER, "reader");
        let request = request.header("content-type", "application/json").body(json!({ "name": "a" }).to_string());
        origin.into_iter().fold(request, |request, origin| request.header("origin", origin))
    };
    answer(change(None)).await.error(403);
    answer(change(Some(&cluster.server.url))).await.ok(201);
}

#[tokio::test]
async fn a4_nobody_else_names_an_account() {
    let (cluster, _) = Cluster::locked_with(settings(&["192.0.2.0/24"])).await;
    answer(named(&cluster, "reader")).await.error(401);
    let claimed = named(&cluster, "reader").header("x-forwarded-for", "192.0.2.1");
    answer(claimed).await.error(401);
}
