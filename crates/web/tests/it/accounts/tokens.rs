//! Tokens for programs.

use serde_json::{Value, json};

use super::Cluster;

#[tokio::test]
async fn a5_tokens_do_what_their_scope_says() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let folder = |name: &str| json!({ "name": name });
        for (scope, may_write, may_manage) in [("read", false, false), ("write", true, false), ("admin", true, true)] {
            let token = cluster.token(&cookie, scope).await;
            assert!(token["token"].as_str().unwrap().starts_with("pir_"), "{token}");
            cluster.with_token(&token, "GET", "/api/folders", &Value::Null).await.ok(200);
            let written = cluster.with_token(&token, "POST", "/api/folders", &folder(scope)).await;
            assert_eq!(written.status, if may_write { 201 } else { 403 }, "{scope}");
            let listed = cluster.with_token(&token, "GET", "/api/accounts", &Value::Null).await;
            assert_eq!(listed.status, if may_manage { 200 } else { 403 }, "{scope}");
            let another = json!({ "name": "another", "scope": "read" });
            let made = cluster.with_token(&token, "POST", "/api/tokens", &another).await;
            assert_eq!(made.status, if may_manage { 201 } else { 403 }, "{scope}: no token makes itself others");
        }
    }
}

#[tokio::test]
async fn a5_tokens_are_shown_once_listed_and_revoked() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let body = json!({ "name": " a  program ", "scope": "read", "expiresAt": "2999-01-01T00:00:00Z" });
        let token = cluster.ask(&cookie, "POST", "/api/tokens", &body).await.ok(201);
        cluster.with_token(&token, "GET", "/api/folders", &Value::Null).await.ok(200);
        let listed = cluster.ask(&cookie, "GET", "/api/tokens", &Value::Null).await;
        assert!(!listed.text.contains("pir_"), "{listed:?}");
        let listed = listed.ok(200);
        assert_eq!(
            (&listed[0]["name"], &listed[0]["expiresAt"]),
            (&json!("a program"), &json!("2999-01-01T00:00:00Z"))
        );
        assert!(listed[0]["lastUsedAt"].is_string(), "{listed}");
        let path = format!("/api/tokens/{}", token["id"]);
        let (_, bens) = cluster.account(&cookie, "ben").await;
        cluster.ask(&bens, "DELETE", &path, &Value::Null).await.error(404);
        assert_eq!(cluster.ask(&cookie, "DELETE", &path, &Value::Null).await.status, 204);
        cluster.ask(&cookie, "DELETE", &path, &Value::Null).await.error(404);
        cluster.with_token(&token, "GET", "/api/folders", &Value::Null).await.error(401);
    }
}

#[tokio::test]
async fn a5_bad_tokens_are_not_made() {
    for (cluster, cookie) in Cluster::each_locked().await {
        for (body, expect) in [
            (json!({ "name": " ", "scope": "read" }), "`name`"),
            (json!({ "name": "x".repeat(101), "scope": "read" }), "`name`"),
            (json!({ "name": "x", "scope": "all" }), "scope"),
            (json!({ "name": "x" }), "scope"),
            (json!({ "name": "x", "scope": "read", "expiresAt": "2020-01-01T00:00:00Z" }), "`expiresAt`"),
            (json!({ "name": "x", "scope": "read", "expiresAt": "soon" }), "`expiresAt`"),
        ] {
            let refused = cluster.ask(&cookie, "POST", "/api/tokens", &body).await.error(400);
            assert!(refused.contains(expect), "{body}: {refused}");
        }
        let (_, bens) = cluster.account(&cookie, "ben").await;
        let admin = json!({ "name": "x", "scope": "admin" });
        cluster.ask(&bens, "POST", "/api/tokens", &admin).await.error(403);
    }
}
