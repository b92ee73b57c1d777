//! Accounts, managed by administrators and by their owners.

use serde_json::{Value, json};

use super::{Cluster, PASSWORD, cookie_of};

#[tokio::test]
async fn a1_only_administrators_manage_accounts() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let (ben, bens) = cluster.account(&cookie, "Ben").await;
        let path = format!("/api/accounts/{}", ben["id"]);
        for (method, path, body) in [
            ("GET", "/api/accounts", Value::Null),
            ("POST", "/api/accounts", json!({ "name": "eve", "password": PASSWORD })),
            ("GET", &*path, Value::Null),
            ("PATCH", &*path, json!({ "isAdmin": true })),
            ("DELETE", &*path, Value::Null),
        ] {
            cluster.ask(&bens, method, path, &body).await.error(403);
        }
        cluster.ask(&cookie, "PATCH", &path, &json!({ "isAdmin": true })).await.ok(200);
        let all = cluster.ask(&bens, "GET", "/api/accounts", &Value::Null).await.ok(200);
        assert_eq!(all.as_array().unwrap().len(), 2);
        assert!(!all.to_string().contains("argon2"), "{all}");
    }
}

#[tokio::test]
async fn a1_names_and_passwords_are_checked() {
    for (cluster, cookie) in Cluster::each_locked().await {
        for (name, password, status, expect) in [
            ("", PASSWORD, 400, "`name`"),
            ("a\nb", PASSWORD, 400, "`name`"),
            (&*"x".repeat(65), PASSWORD, 400, "`name`"),
            ("ben", "1234567", 400, "`password`"),
            ("ben", &*"x".repeat(1025), 400, "`password`"),
            ("READER", PASSWORD, 409, "this name"),
            ("ben", &*"ü".repeat(512), 201, ""),
        ] {
            let body = json!({ "name": name, "password": password });
            let made = cluster.ask(&cookie, "POST", "/api/accounts", &body).await;
            assert!(made.status == status && made.text.contains(expect), "{body}: {made:?}");
        }
        cookie_of(&cluster.log_in("ben", &"ü".repeat(512)).await);
    }
}

#[tokio::test]
async fn a1_the_last_administrator_stays() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let own = cluster.ask(&cookie, "GET", "/api/account", &Value::Null).await.ok(200);
        let path = format!("/api/accounts/{}", own["id"]);
        cluster.ask(&cookie, "DELETE", &path, &Value::Null).await.error(409);
        cluster.ask(&cookie, "PATCH", &path, &json!({ "isAdmin": false })).await.error(409);
        cluster.ask(&cookie, "DELETE", "/api/accounts/4711", &Value::Null).await.error(404);
    }
}

#[tokio::test]
async fn a4_another_password_ends_the_other_sessions() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let other = cookie_of(&cluster.log_in("reader", PASSWORD).await);
        let change = |password: &str| json!({ "password": password, "newPassword": "another horse" });
        cluster.ask(&cookie, "PATCH", "/api/account", &json!({ "newPassword": "another horse" })).await.error(400);
        cluster.ask(&cookie, "PATCH", "/api/account", &change("wrong horse")).await.error(401);
        // Nor by the way of administrators, in a session.
        let own = cluster.ask(&cookie, "GET", "/api/account", &Value::Null).await.ok(200);
        let path = format!("/api/accounts/{}", own["id"]);
        let refused = cluster.ask(&cookie, "PATCH", &path, &json!({ "password": "another horse" })).await.error(400);
        assert!(refused.contains("`password`"), "{refused}");
        cluster.ask(&cookie, "PATCH", "/api/account", &change(PASSWORD)).await.ok(200);
        cluster.ask(&cookie, "GET", "/api/account", &Value::Null).await.ok(200);
        cluster.ask(&other, "GET", "/api/account", &Value::Null).await.error(401);
        cluster.log_in("reader", PASSWORD).await.error(401);
        cluster.log_in("reader", "another horse").await.ok(200);
        let renamed = cluster.ask(&cookie, "PATCH", "/api/account", &json!({ "name": "Ann" })).await.ok(200);
        assert_eq!(renamed["name"], "Ann");
        cluster.log_in("ann", "another horse").await.ok(200);
    }
}

#[tokio::test]
async fn a4_sessions_are_their_owners() {
    for (cluster, cookie) in Cluster::each_locked().await {
        let (_, bens) = cluster.account(&cookie, "ben").await;
        let list = cluster.ask(&bens, "GET", "/api/sessions", &Value::Null).await.ok(200);
        let path = format!("/api/sessions/{}", list[0]["id"]);
        cluster.ask(&cookie, "DELETE", &path, &Value::Null).await.error(404);
        assert_eq!(cluster.ask(&bens, "DELETE", &path, &Value::Null).await.status, 204);
        cluster.ask(&bens, "GET", "/api/sessions", &Value::Null).await.error(401);
    }
}
