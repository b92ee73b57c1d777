//! Sessions, and that nothing but what is open goes without one.

use std::time::Duration;

use domain::account::{NewToken, READER, SecretHash, TokenScope};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Cluster, PASSWORD, cookie_of};
use crate::server::answer;

/// What needs no login, of what is described.
const OPEN: [&str; 8] = [
    "GET /healthz",
    "GET /readyz",
    "GET /api/openapi.json",
    "POST /api/session",
    "GET /api/websub/callback",
    "POST /api/websub/callback",
    "GET /api/websub/callback/{token}",
    "POST /api/websub/callback/{token}",
];

#[tokio::test]
async fn a3_fresh_server_needs_no_login_on_loopback() {
    let cluster = Cluster::start().await;
    let account = cluster.server.get("/api/account").await.ok(200);
    assert_eq!(
        (&account["name"], &account["isAdmin"], &account["hasPassword"]),
        (&json!("reader"), &json!(true), &json!(false))
    );
    cluster.server.get("/api/folders").await.ok(200);
    // Whoever comes by a proxy is not on this machine.
    for header in ["x-forwarded-for", "forwarded", "via"] {
        let proxied = cluster.server.request("GET", "/api/folders").header(header, "203.0.113.9");
        answer(proxied).await.error(401);
    }
}

#[tokio::test]
async fn a3_no_auth_lets_everybody_in_until_there_is_a_password() {
    let cluster = Cluster::start_with(web::WebSettings { no_auth: true, ..web::WebSettings::default() }).await;
    let proxied = || cluster.server.request("GET", "/api/folders").header("x-forwarded-for", "203.0.113.9");
    answer(proxied()).await.ok(200);
    cluster.server.send("PATCH", "/api/account", &json!({ "newPassword": PASSWORD }).to_string()).await.ok(200);
    answer(proxied()).await.error(401);
    cluster.server.get("/api/folders").await.error(401);
}

#[tokio::test]
async fn a3_a_password_closes_every_route_but_the_open_ones() {
    for (cluster, _) in Cluster::each_locked().await {
        let document = cluster.server.get("/api/openapi.json").await.ok(200);
        let mut closed = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
                let (route, path) = (format!("{method} {path}"), path.replace("{id}", "1").replace("{token}", "x"));
                let status = cluster.server.call(&method, &path).await;
                // This machine may read the metrics.
                let is_open = OPEN.contains(&&*route) || route == "GET /metrics";
                assert_eq!(status.status != 401 || route == "POST /api/session", is_open, "{route}: {status:?}");
                closed += usize::from(!is_open);
                if !is_open {
                    assert_eq!(status.header("www-authenticate"), "Bearer", "{route}");
                }
            }
        }
        assert!(closed > 50, "{closed}");
        let proxied = cluster.server.request("GET", "/metrics").header("x-forwarded-for", "203.0.113.9");
        answer(proxied).await.error(401);
    }
}

#[tokio::test]
async fn a4_login_gives_a_session_that_logout_ends() {
    for (cluster, cookie) in Cluster::each_locked().await {
        cluster.server.get("/api/folders").await.error(401);
        let login = cluster.log_in(" READER ", PASSWORD).await;
        assert_eq!(login.ok(200)["name"], "reader");
        let set = login.header("set-cookie");
        assert!(set.starts_with("pirssonite-session=") && set.contains("HttpOnly; SameSite=Lax"), "{set}");
        let other = cookie_of(&login);
        let sessions = cluster.ask(&cookie, "GET", "/api/sessions", &Value::Null).await.ok(200);
        let current: Vec<bool> =
            sessions.as_array().unwrap().iter().map(|session| session["isCurrent"].as_bool().unwrap()).collect();
        assert_eq!(current.iter().filter(|is_current| **is_current).count(), 1, "{sessions}");
        assert_eq!((current.len(), &sessions[0]["address"]), (2, &json!("127.0.0.1")));

        let out = cluster.ask(&other, "DELETE", "/api/session", &Value::Null).await;
        assert_eq!(out.status, 204);
        assert!(out.header("set-cookie").contains("Max-Age=0"));
        cluster.ask(&other, "GET", "/api/folders", &Value::Null).await.error(401);
        cluster.ask(&cookie, "GET", "/api/folders", &Value::Null).await.ok(200);
    }
}

#[tokio::test]
async fn a4_cookie_is_for_https_alone_where_base_url_is() {
    let base_url = Some("https://reader.example".parse().unwrap());
    let (cluster, cookie) = Cluster::locked_with(web::WebSettings { base_url, ..web::WebSettings::default() }).await;
    assert!(cookie.starts_with("__Host-pirssonite-session="));
    let login = cluster.log_in("reader", PASSWORD).await;
    assert!(login.header("set-cookie").ends_with("; Secure"), "{login:?}");
    cluster.ask(&cookie, "GET", "/api/folders", &Value::Null).await.ok(200);
    let plain = cookie.replace("__Host-", "");
    cluster.ask(&plain, "GET", "/api/folders", &Value::Null).await.error(401);
}

#[tokio::test]
async fn a4_logout_holds_on_all_nodes_within_a_second() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let other = cluster.another_node().await;
        let ask = || answer(other.request("GET", "/api/folders").header("cookie", &cookie));
        ask().await.ok(200);
        cluster.ask(&cookie, "DELETE", "/api/session", &Value::Null).await;
        let ended = Instant::now();
        loop {
            // What is asked later than this is refused; how long the answer takes is the machine's matter.
            let asked = ended.elapsed();
            if ask().await.status != 200 {
                break;
            }
            assert!(asked < Duration::from_secs(1), "it still holds after {asked:?}");
        }
        ask().await.error(401);
    }
}

#[tokio::test]
async fn a4_whatever_is_wrong_gets_the_same_401() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let (ben, bens) = cluster.account(&cookie, "ben").await;
        let bens_token = cluster.token(&bens, "write").await;
        let (expired, revoked) = (expired_token(&cluster).await, cluster.token(&cookie, "write").await);
        cluster.with_token(&revoked, "GET", "/api/folders", &Value::Null).await.ok(200);
        let revoke = format!("/api/tokens/{}", revoked["id"]);
        assert_eq!(cluster.ask(&cookie, "DELETE", &revoke, &Value::Null).await.status, 204);
        let path = format!("/api/accounts/{}", ben["id"]);
        assert_eq!(cluster.ask(&cookie, "DELETE", &path, &Value::Null).await.status, 204);
        let foreign = format!("pirssonite-session={}", "A".repeat(43));
        let get = |cookie: String| async move { cookie };
        let long = "x".repeat(5_000);
        let answers = [
            cluster.log_in("reader", "wrong horse").await,
            cluster.log_in("nobody", PASSWORD).await,
            cluster.log_in("ben", PASSWORD).await,
            cluster.log_in("reader", "").await,
            cluster.log_in("reader", &long).await,
            cluster.log_in(&long, PASSWORD).await,
            cluster.ask(&get(foreign).await, "GET", "/api/folders", &Value::Null).await,
            cluster.ask("pirssonite-session=x", "GET", "/api/folders", &Value::Null).await,
            cluster.ask(&bens, "GET", "/api/folders", &Value::Null).await,
            cluster.with_token(&bens_token, "GET", "/api/folders", &Value::Null).await,
            cluster.with_token(&expired, "GET", "/api/folders", &Value::Null).await,
            cluster.with_token(&revoked, "GET", "/api/folders", &Value::Null).await,
            cluster.with_token(&json!({ "token": "pir_x" }), "GET", "/api/folders", &Value::Null).await,
            cluster.server.get("/api/folders").await,
        ];
        let first = answers[0].error(401);
        for answer in &answers {
            assert_eq!(answer.error(401), first);
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            assert_eq!(answer.header("set-cookie"), "");
        }
    }
}

/// A token of the reader's whose end has passed. None such is made by the API; one that lasts is good in the same form.
async fn expired_token(cluster: &Cluster) -> Value {
    let [lasting, expired] =
        [("L", "2999-01-01T00:00:00Z"), ("E", "2000-01-01T00:00:00Z")].map(|(letter, end)| NewToken {
            name: "a program".to_owned(),
            scope: TokenScope::Write,
            expires_at: Some(end.parse().unwrap()),
            secret: SecretHash::of(&secret_of(letter)),
            fever_key: SecretHash::of(letter),
        });
    for token in [lasting, expired] {
        cluster.store.create_token(READER, token).await.unwrap();
    }
    let lasting = json!({ "token": secret_of("L") });
    cluster.with_token(&lasting, "GET", "/api/folders", &Value::Null).await.ok(200);
    json!({ "token": secret_of("E") })
}

fn secret_of(letter: &str) -> String {
    format!("pir_{}", letter.repeat(43))
}

#[tokio::test]
async fn a4_changing_requests_with_a_cookie_need_our_origin() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let body = |name: &str| json!({ "name": name }).to_string();
        let post = |name: &str| {
            let request = cluster.server.request("POST", "/api/folders").header("content-type", "application/json");
            request.body(body(name))
        };
        let with_cookie = |name: &str| post(name).header("cookie", &cookie);
        answer(with_cookie("a")).await.error(403);
        answer(with_cookie("a").header("origin", "https://evil.example")).await.error(403);
        answer(with_cookie("a").header("sec-fetch-site", "cross-site")).await.error(403);
        answer(with_cookie("a").header("origin", &cluster.server.url)).await.ok(201);
        answer(with_cookie("b").header("sec-fetch-site", "same-origin")).await.ok(201);
        let token = cluster.token(&cookie, "write").await;
        answer(post("c").bearer_auth(token["token"].as_str().unwrap())).await.ok(201);
        // It is not an origin that lets one in.
        answer(post("d").header("origin", &cluster.server.url)).await.error(401);
    }
}

#[tokio::test]
async fn a4_cookie_lasts_as_long_as_its_session_is_used() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let page = answer(cluster.as_browser(&cookie, "GET", "/unread").header("accept", "text/html")).await;
        assert_eq!(cookie_of(&page), cookie);
        assert!(page.header("set-cookie").contains("Max-Age=2592000"), "{page:?}");
        let (data, stranger) =
            (cluster.ask(&cookie, "GET", "/api/feeds", &Value::Null).await, cluster.server.get("/login").await);
        assert_eq!((data.header("set-cookie"), stranger.header("set-cookie")), ("", ""));
    }
}
