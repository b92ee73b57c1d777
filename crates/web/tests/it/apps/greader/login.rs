//! How apps come in by this interface.

use domain::account::{NewSession, SecretHash};
use serde_json::{Value, json};

use super::{App, log_in};
use crate::{
    accounts::PASSWORD,
    apps::{Reader, with_form},
    server::answer,
};

#[tokio::test]
async fn s1_login_gives_the_same_auth_each_time() {
    for reader in Reader::each().await {
        for secret in [PASSWORD, &reader.token] {
            let mut given = Vec::new();
            for base in ["", "/", "/greader", "//greader", "/api/greader.php", "/api/greader.php/", "//api/greader.php"]
            {
                let answer = log_in(&reader, base, "Reader", secret).await;
                assert_eq!(answer.status, 200, "{base} {answer:?}");
                let lines: Vec<_> = answer.text.lines().collect();
                let auth = lines[2].strip_prefix("Auth=").unwrap();
                assert!(lines[0] == format!("SID={auth}") && lines[1].starts_with("LSID="), "{lines:?}");
                assert!(auth.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{auth}");
                given.push(auth.to_owned());
            }
            given.dedup();
            assert_eq!(given.len(), 1, "{given:?}");
            assert_eq!(given[0] == reader.token, secret == reader.token);
        }
        let query =
            format!("/accounts/ClientLogin?Email=reader&Passwd={}&output=json&accountType=HOSTED", reader.token);
        let json = reader.server.get(&query).await.ok(200);
        assert_eq!((&json["Auth"], &json["SID"]), (&json!(reader.token), &json!(reader.token)));
    }
}

#[tokio::test]
async fn s1_wrong_keys_are_bad_authentication() {
    for reader in Reader::each().await {
        let other = "pir_".to_owned() + &"A".repeat(43);
        for (name, secret) in [
            ("reader", "wrong"),
            ("nobody", PASSWORD),
            ("reader", ""),
            ("", ""),
            ("reader", &other),
            ("nobody", &reader.token),
        ] {
            let answer = log_in(&reader, "/api/greader.php", name, secret).await;
            assert_eq!((answer.status, &*answer.text), (401, "Error=BadAuthentication\n"), "{name} {secret}");
        }
        for auth in ["GoogleLogin auth=x", "GoogleLogin auth=", "Basic cjpw", "x"] {
            let request = reader.server.request("GET", "/reader/api/0/token").header("authorization", auth);
            let answer = answer(request).await;
            assert_eq!((answer.status, &*answer.text), (401, "Unauthorized!"), "{auth}");
            assert_eq!(answer.header("x-reader-google-bad-token"), "true");
        }
        // The session of a browser is worth nothing here, so no page can act for whoever is logged in.
        let request = reader.server.request("GET", "/reader/api/0/token").header("cookie", &reader.cookie);
        assert_eq!(answer(request).await.status, 401);
        // And nobody is let in without a login, also not on this machine.
        assert_eq!(reader.server.get("/reader/api/0/subscription/list").await.status, 401);
    }
}

#[tokio::test]
async fn s1_guesses_are_slowed_at_this_door_too() {
    for reader in Reader::each().await {
        let mut statuses = Vec::new();
        for _ in 0..7 {
            statuses.push(log_in(&reader, "", "reader", "wrong").await.status);
        }
        assert_eq!(statuses[..5], [401; 5]);
        assert!(statuses[5..].contains(&429), "{statuses:?}");
        let late = log_in(&reader, "", "reader", PASSWORD).await;
        assert_eq!(late.status, 429, "also for the right one");
        assert!(!late.header("retry-after").is_empty());
        let other_door = json!({ "name": "reader", "password": PASSWORD });
        assert_eq!(reader.server.send("POST", "/api/session", &other_door.to_string()).await.status, 429);
        // A token that is right is no guess.
        App::with_token(&reader).await;
    }
}

#[tokio::test]
async fn s1_token_is_what_login_gave_and_may_come_alone() {
    for reader in Reader::each().await {
        for app in [App::with_token(&reader).await, App::with_password(&reader).await] {
            let token = app.get("token", &[]).await;
            assert_eq!((token.status, &token.text), (200, &app.auth));
            // Liferea sends it as `T` and no header; others an empty one, or any, with the header.
            let request = reader.server.request("POST", "/reader/api/0/stream/items/contents");
            let alone = answer(with_form(request, &[("T", &app.auth), ("i", "1")])).await;
            alone.ok(200);
            app.change("edit-tag", &[("T", ""), ("i", "1")]).await;
            app.change("edit-tag", &[("T", "x"), ("i", "1")]).await;
            let info = app.json("user-info", &[("output", "json")]).await;
            assert_eq!((&info["userName"], &info["userId"]), (&json!("reader"), &json!("1")));
            assert!(info["userProfileId"].is_string() && info["userEmail"].is_string());
        }
    }
}

#[tokio::test]
async fn s1_another_password_and_a_revoked_token_end_what_login_gave() {
    for reader in Reader::each().await {
        let (by_token, by_password) = (App::with_token(&reader).await, App::with_password(&reader).await);
        // Listed like the logins of browsers.
        assert_eq!(reader.get("/api/sessions").await.as_array().unwrap().len(), 2);
        let tokens = reader.get("/api/tokens").await;
        let path = format!("/api/tokens/{}", tokens[0]["id"]);
        assert_eq!(reader.api("DELETE", &path, &Value::Null).await.status, 204);
        assert_eq!(by_token.get("token", &[]).await.status, 401);
        assert_eq!(by_password.get("token", &[]).await.status, 200);
        let other = json!({ "password": PASSWORD, "newPassword": "battery staple" });
        reader.api("PATCH", "/api/account", &other).await.ok(200);
        assert_eq!(by_password.get("token", &[]).await.status, 401);
        assert_eq!(log_in(&reader, "", "reader", PASSWORD).await.status, 401);
        let again = App::log_in(&reader, "", "battery staple").await;
        assert_ne!(again.auth, by_password.auth);
    }
}

#[tokio::test]
async fn a4_an_apps_session_that_was_ended_stays_so() {
    for reader in Reader::each().await {
        let lost = App::with_password(&reader).await;
        let sessions = reader.get("/api/sessions").await;
        let of_apps = sessions.as_array().unwrap().iter().find(|session| session["isCurrent"] == false).unwrap();
        let path = format!("/api/sessions/{}", of_apps["id"]);
        assert_eq!(reader.api("DELETE", &path, &Value::Null).await.status, 204);
        assert_eq!(lost.get("token", &[]).await.status, 401);
        // Another app, or the same once it asks for the password: its login gives another, the same each time.
        let [first, again] = [App::with_password(&reader).await, App::with_password(&reader).await];
        assert_eq!(first.auth, again.auth);
        assert_ne!(first.auth, lost.auth);
        assert_eq!((first.get("token", &[]).await.status, lost.get("token", &[]).await.status), (200, 401));
        // A browser that logs out ends none of apps.
        assert_eq!(reader.api("DELETE", "/api/session", &Value::Null).await.status, 204);
        assert_eq!(App::with_password(&reader).await.auth, first.auth);
    }
}

/// Where a login is stored while this node has just been asked for it.
#[tokio::test]
async fn s1_a_session_that_was_not_there_is_found_once_it_is() {
    for reader in Reader::each().await {
        let auth = "A".repeat(43);
        let ask = || {
            let request = reader.server.request("GET", "/reader/api/0/token");
            answer(request.header("authorization", format!("GoogleLogin auth={auth}")))
        };
        assert_eq!(ask().await.status, 401);
        let secret = SecretHash::of(&format!("app {auth}"));
        let new = NewSession { secret, is_app: true, address: None, user_agent: None };
        let checked = reader.store.credentials("reader").await.unwrap().unwrap();
        assert!(reader.store.create_session(&checked, new).await.unwrap().is_some());
        assert_eq!(ask().await.status, 200);
    }
}

#[tokio::test]
async fn s1_tokens_for_reading_change_nothing() {
    for reader in Reader::each().await {
        reader.filled().await;
        let token = reader.new_token("read").await;
        let app = App::log_in(&reader, "", &token).await;
        app.json("subscription/list", &[]).await;
        let id = app.id("Alpha 1").await;
        for (path, form) in [
            ("edit-tag", vec![("i", id.as_str()), ("a", super::READ)]),
            ("mark-all-as-read", vec![("s", super::READING_LIST)]),
            ("subscription/edit", vec![("ac", "unsubscribe"), ("s", "feed/1")]),
            ("subscription/quickadd", vec![("quickadd", "http://127.0.0.1:1/")]),
            ("subscription/import", vec![("x", "y")]),
            ("rename-tag", vec![("s", "user/-/label/News"), ("dest", "user/-/label/Old")]),
            ("disable-tag", vec![("s", "user/-/label/News")]),
        ] {
            let answer = app.ask("POST", &format!("api/0/{path}"), &form).await;
            assert_eq!(answer.status, 403, "{path}: never 401, which would make the app log in again: {answer:?}");
        }
        assert_eq!(reader.entry("Alpha 1").await["isRead"], false);
    }
}

/// Out of the box there is no password, and whoever is on this machine needs none: whatever an app makes a person type.
#[tokio::test]
async fn s1_an_open_server_takes_any_password_on_this_machine() {
    let cluster = crate::accounts::Cluster::start().await;
    let request = cluster.server.request("POST", "/accounts/ClientLogin");
    let login = answer(with_form(request, &[("Email", "reader"), ("Passwd", "whatever")])).await;
    assert_eq!(login.status, 200, "{login:?}");
    let auth = login.text.lines().find_map(|line| line.strip_prefix("Auth=")).unwrap().to_owned();
    let ask = |origin: Option<&str>| {
        let request = cluster.server.request("POST", "/reader/api/0/edit-tag?a=user/-/label/New");
        let request = request.header("authorization", format!("GoogleLogin auth={auth}"));
        answer(match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        })
    };
    assert_eq!(ask(None).await.text, "OK");
    assert_eq!(ask(Some("https://evil.example")).await.status, 401, "not for a page in a browser on this machine");
    // With a password what was open is closed.
    cluster.server.send("PATCH", "/api/account", &json!({ "newPassword": PASSWORD }).to_string()).await.ok(200);
    assert_eq!(ask(None).await.status, 401);
}

#[tokio::test]
async fn s1_a_store_that_does_not_answer_is_503_and_not_a_wrong_password() {
    use crate::stubs::{Down, INTERNALS, NoNetwork};
    let (store, http) = (std::sync::Arc::new(Down::Unavailable), std::sync::Arc::new(NoNetwork));
    let server = crate::server::Server::start(store, http, web::WebSettings::default()).await;
    let token = "pir_".to_owned() + &"A".repeat(43);
    let auth = format!("GoogleLogin auth={token}");
    let login = format!("/accounts/ClientLogin?Email=reader&Passwd={token}");
    for path in [login.as_str(), "/reader/api/0/token", "/reader/api/0/subscription/list"] {
        let failed = answer(server.request("GET", path).header("authorization", &auth)).await;
        assert_eq!((failed.status, failed.header("retry-after")), (503, "5"), "{path}: {failed:?}");
        assert!(!failed.text.contains(INTERNALS) && failed.header("content-type").starts_with("text/plain"));
    }
}
