//! A proxy that logs people in: its word is taken, and nobody else's.

use reqwest::RequestBuilder;
use serde_json::json;
use web::WebSettings;

use super::House;
use crate::server::answer;

const HEADER: &str = "remote-user";

fn settings(trusted: &[&str]) -> WebSettings {
    WebSettings {
        trusted_proxies: trusted.iter().map(|network| network.parse().unwrap()).collect(),
        auth_proxy_header: Some(web::HeaderName::from_static(HEADER)),
        ..WebSettings::default()
    }
}

fn named(house: &House, name: &str) -> RequestBuilder {
    house.server.request("GET", "/api/account").header(HEADER, name)
}

#[tokio::test]
async fn a4_a_trusted_proxy_names_the_account() {
    let (house, cookie) = House::locked_with(settings(&["127.0.0.0/8"])).await;
    house.account(&cookie, "Ben Lee").await;
    assert_eq!(answer(named(&house, "ben lee")).await.ok(200)["name"], "Ben Lee");
    assert_eq!(answer(named(&house, "reader")).await.ok(200)["name"], "reader");
    let unknown = answer(named(&house, "nobody")).await;
    assert_eq!(unknown.error(401), house.server.get("/api/account").await.error(401));
    answer(named(&house, "")).await.error(401);
    answer(named(&house, "reader").header(HEADER, "ben lee")).await.error(401);
    // What a browser sends by itself needs our origin, whoever logs it in.
    let change = |origin: Option<&str>| {
        let request = house.server.request("POST", "/api/folders").header(HEADER, "reader");
        let request = request.header("content-type", "application/json").body(json!({ "name": "a" }).to_string());
        origin.into_iter().fold(request, |request, origin| request.header("origin", origin))
    };
    answer(change(None)).await.error(403);
    answer(change(Some(&house.server.url))).await.ok(201);
}

#[tokio::test]
async fn a4_nobody_else_names_an_account() {
    let (house, _) = House::locked_with(settings(&["192.0.2.0/24"])).await;
    answer(named(&house, "reader")).await.error(401);
    let claimed = named(&house, "reader").header("x-forwarded-for", "192.0.2.1");
    answer(claimed).await.error(401);
}
