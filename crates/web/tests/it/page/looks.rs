//! How pages look and behave: of the account, and of a browser where that wants it otherwise.

use serde_json::json;

use super::both;
use crate::{
    accounts::Cluster,
    server::{Answer, answer},
};

async fn with_cookie(reader: &super::Reader, cookie: &str, path: &str) -> Answer {
    answer(reader.server.request("GET", path).header("cookie", cookie).header("accept", "text/html")).await
}

#[tokio::test]
async fn a1_settings_follow_to_another_browser() {
    for reader in both().await {
        let form = "theme=dark&size=xl&order=oldest&excerpts=off&scroll=on&keys=off&reach=account&back=/settings";
        let saved = reader.browse("POST", "/preferences", Some(form)).await;
        assert_eq!((saved.status, saved.header("location")), (303, "/settings"));
        // Without a cookie, as another browser comes.
        let page = reader.page("/settings").await;
        assert!(page.contains("data-theme=\"dark\" data-size=\"xl\" data-scroll>"), "{page}");
        for chosen in ["dark", "xl", "oldest", "account"] {
            assert!(page.contains(&format!("<option value=\"{chosen}\" selected>")), "{chosen}: {page}");
        }
        let settings = reader.server.get("/api/account/settings").await.ok(200);
        let expect = json!({ "theme": "dark", "textSize": "veryLarge", "order": "oldest", "summaries": false,
                             "markOnScroll": true, "keys": false });
        assert_eq!(settings, expect);
    }
}

#[tokio::test]
async fn a1_a_browser_may_have_a_look_of_its_own() {
    for reader in both().await {
        reader.browse("POST", "/preferences", Some("theme=light&size=m&reach=account")).await;
        let own = reader.browse("POST", "/preferences", Some("theme=dark&size=l&keys=off&reach=browser")).await;
        assert!(own.header("set-cookie").contains("HttpOnly; SameSite=Lax"), "{own:?}");
        let cookie = own.header("set-cookie").split(';').next().unwrap().to_owned();
        let here = with_cookie(&reader, &cookie, "/settings").await.text;
        assert!(here.contains("data-theme=\"dark\" data-size=\"l\">"), "{here}");
        assert!(here.contains("<option value=\"browser\" selected>"), "{here}");
        let elsewhere = reader.page("/settings").await;
        assert!(elsewhere.contains("data-theme=\"light\" data-size=\"m\">"), "keys are the account's: {elsewhere}");
        let back = reader.browse("POST", "/preferences", Some("theme=dark&size=m&reach=account")).await;
        assert!(back.header("set-cookie").contains("Max-Age=0"), "{back:?}");
    }
}

#[tokio::test]
async fn a1_settings_by_the_api_are_strict() {
    for reader in both().await {
        let path = "/api/account/settings";
        let patched = reader.server.send("PATCH", path, r#"{"theme":"light","keys":false}"#).await.ok(200);
        assert_eq!(
            (&patched["theme"], &patched["keys"], &patched["order"]),
            (&json!("light"), &json!(false), &json!("newest"))
        );
        for wrong in [r#"{"theme":"sepia"}"#, r#"{"textSize":3}"#, r#"{"color":"red"}"#, r#"{"keys":"on"}"#, "[]", "{"]
        {
            reader.server.send("PATCH", path, wrong).await.error(400);
        }
        assert_eq!(reader.server.get(path).await.ok(200), patched);
        assert_eq!(reader.server.send("PATCH", path, "{}").await.ok(200), patched);
    }
}

#[tokio::test]
async fn a1_settings_of_one_account_are_not_anothers() {
    for (cluster, admin) in Cluster::each_locked().await {
        let (_, ann) = cluster.account(&admin, "ann").await;
        cluster.ask(&admin, "PATCH", "/api/account/settings", &json!({ "theme": "dark" })).await.ok(200);
        let settings = cluster.ask(&ann, "GET", "/api/account/settings", &serde_json::Value::Null).await.ok(200);
        assert_eq!(settings["theme"], "system");
        let token = cluster.token(&ann, "read").await;
        cluster.with_token(&token, "GET", "/api/account/settings", &serde_json::Value::Null).await.ok(200);
        cluster.with_token(&token, "PATCH", "/api/account/settings", &json!({ "theme": "dark" })).await.error(403);
    }
}
