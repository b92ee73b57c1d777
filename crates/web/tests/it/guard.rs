//! What every answer carries, and who is refused: other tests show the table of cases, these that it is in force.

use std::sync::Arc;

use web::WebSettings;

use crate::{
    server::{Server, answer},
    stubs::{Down, NoNetwork},
};

async fn server(settings: WebSettings) -> Server {
    Server::start(Arc::new(Down::Unavailable), Arc::new(NoNetwork), settings).await
}

#[tokio::test]
async fn u7_foreign_origins_are_403_foreign_hosts_421() {
    let server = server(WebSettings::default()).await;
    for path in ["/api/refresh", "/api/opml/import", "/api/feeds"] {
        let foreign = server.request("POST", path).header("origin", "https://evil.example");
        assert!(answer(foreign).await.error(403).contains("other sites"), "{path}");
    }
    let cross = server.request("DELETE", "/api/feeds/1").header("sec-fetch-site", "cross-site");
    answer(cross).await.error(403);
    let own = server.request("DELETE", "/api/feeds/1").header("origin", &server.url);
    answer(own).await.error(503);
    let rebound = server.request("GET", "/api/feeds").header("host", "evil.example:3000");
    assert!(answer(rebound).await.error(421).contains("`evil.example:3000`"));
    let named = server.request("GET", "/healthz").header("host", "localhost:3000");
    answer(named).await.ok(200);
}

#[tokio::test]
async fn u8_w1_own_client_is_refused_but_at_the_callback() {
    let server = server(WebSettings::default()).await;
    let ours = engine::http::user_agent(None);
    for (method, path, status) in [
        ("POST", "/api/webhooks/1/rotate-secret", 403),
        ("GET", "/api/feeds", 403),
        ("POST", "/api/websub/callback/token", 503),
    ] {
        answer(server.request(method, path).header("user-agent", &ours)).await.error(status);
        answer(server.request(method, path).header("user-agent", "curl/8")).await.error(503);
    }
    for form in ["/mark-read", "/entry/1", "/settings", "/login"] {
        answer(server.request("POST", form).header("user-agent", &ours)).await.error(403);
    }
    answer(server.request("GET", "/healthz").header("user-agent", &ours)).await.ok(200);
}

#[tokio::test]
async fn u7_host_of_base_url_is_answered() {
    let base_url = Some("https://reader.example".parse().unwrap());
    let server = server(WebSettings { base_url, ..WebSettings::default() }).await;
    answer(server.request("GET", "/api/openapi.json").header("host", "reader.example")).await.ok(200);
    answer(server.request("GET", "/api/openapi.json").header("host", "evil.example")).await.error(421);
}

#[tokio::test]
async fn p1_probes_are_answered_by_the_name_that_a_balancer_has_for_a_node() {
    let base_url = Some("https://reader.example".parse().unwrap());
    let server = server(WebSettings { base_url, ..WebSettings::default() }).await;
    answer(server.request("GET", "/healthz").header("host", "node-1:3000")).await.ok(200);
    // The store of this test is away: that, not the name, is what it hears.
    answer(server.request("GET", "/readyz").header("host", "node-1:3000")).await.error(503);
    answer(server.request("GET", "/metrics").header("host", "node-1:3000")).await.error(421);
}

#[tokio::test]
async fn u7_answers_carry_security_headers() {
    let server = server(WebSettings::default()).await;
    for path in ["/healthz", "/api/feeds", "/api/nothing", "/api/openapi.json", "/api/entries?limit=0"] {
        let answer = server.get(path).await;
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), value, "{path}");
        }
        assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
    }
}
