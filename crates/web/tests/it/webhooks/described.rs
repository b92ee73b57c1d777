//! The description and the server agree: what schemathesis found where they did not. (CONTRIBUTING.md says how to run it.)

use serde_json::{Value, json};

use super::world::each;
use crate::server::answer;

#[tokio::test]
async fn u6_described_requests_are_taken() {
    for world in each().await {
        let webhook = world.webhook(json!({})).await;
        let replay = format!("/api/webhooks/{}/replay", webhook["id"]);
        let long_url = format!("https://{}.example", "a".repeat(63)) + "/" + &"x".repeat(2000 - 63 - 17);
        let without_path = format!("https://{}", "a.".repeat(996));
        let with_quotes = format!("https://8.1?{}", "'".repeat(1988));
        assert_eq!([&long_url, &without_path, &with_quotes].map(String::len), [2000; 3]);
        let cursor = |path: &str| {
            let installation = world.store.installation();
            path.replace("cur_", &format!("cur_{installation}")).replace("dlv_", &format!("dlv_{installation}"))
        };
        for (method, path, body, status) in [
            // Any cursor of this installation, also one at the end of time.
            ("GET", cursor(&format!("/api/entries?cursor=cur_{}", "f".repeat(32))), json!(null), 200),
            ("GET", cursor(&format!("/api/entries?cursor=cur_7{}", "f".repeat(31))), json!(null), 200),
            ("GET", cursor("/api/outbox/deliveries?cursor=dlv_ffffffffffff"), json!(null), 200),
            (
                "GET",
                "/api/entries?ids=1,-7,9223372036854775807&order=oldest&content=false".to_owned(),
                json!(null),
                200,
            ),
            (
                "GET",
                "/api/entries?receivedSince=2024-01-31T00:00:00%2B01:00&unread=true&feedId=1".to_owned(),
                json!(null),
                200,
            ),
            ("GET", "/api/entries?changedSince=0001-01-01T00:00:00Z&order=newest".to_owned(), json!(null), 200),
            ("PATCH", "/api/entries".to_owned(), json!({ "ids": vec![7; 1000], "isRead": true }), 200),
            ("PATCH", "/api/entries".to_owned(), json!({ "ids": vec![7; 1001], "isRead": true }), 400),
            ("PATCH", "/api/entries".to_owned(), json!({ "ids": [] }), 200),
            // Whole numbers as some programs write them.
            ("POST", "/api/outbox/requeue".to_owned(), json!({ "webhookId": -5741.0 }), 404),
            ("POST", "/api/outbox/requeue".to_owned(), json!({ "webhookId": 1.0 }), 200),
            ("GET", "/api/feeds/-610.0".to_owned(), json!(null), 404),
            ("GET", "/api/webhooks/1.0".to_owned(), json!(null), 200),
            ("GET", "/api/outbox/deliveries?webhookId=1.0&limit=5.0".to_owned(), json!(null), 200),
            // What is named and does not exist is 404.
            ("PATCH", "/api/folders/reorder".to_owned(), json!({ "folderIds": [i64::MAX] }), 404),
            ("PATCH", "/api/feeds/1".to_owned(), json!({ "folderId": i64::MIN }), 404),
            ("POST", "/api/webhooks".to_owned(), json!({ "url": "https://r.example", "feedIds": [-1] }), 404),
            // Limits are those of the text as it is sent, however long a URL becomes when it is kept.
            ("POST", "/api/webhooks".to_owned(), json!({ "url": long_url }), 201),
            ("POST", "/api/webhooks".to_owned(), json!({ "url": without_path }), 201),
            ("PATCH", "/api/webhooks/1".to_owned(), json!({ "url": with_quotes }), 200),
            ("POST", "/api/folders".to_owned(), json!({ "name": "n".repeat(200) }), 201),
            (
                "POST",
                "/api/webhooks".to_owned(),
                json!({ "url": "https://r.example", "headers": { "a": "v".repeat(4000) } }),
                201,
            ),
            // A body that may be left out may be null.
            ("POST", cursor("/api/outbox/deliveries/dlv_000000000001/cancel"), json!(null), 404),
            // Whether a time has come is not for a description to say.
            ("POST", replay.clone(), json!({ "since": "4410-09-17T06:36:46.0+06:00" }), 409),
            // A hub whose topic nobody knows.
            ("GET", "/api/websub/callback?hub.mode=subscribe&hub.topic=0&hub.challenge=0".to_owned(), json!(null), 404),
            ("GET", "/api/websub/callback/0?hub.mode=denied&hub.topic=0&hub.reason=".to_owned(), json!(null), 404),
        ] {
            let answer = match method {
                "GET" => world.server.get(&path).await,
                _ => world.send(method, &path, &body).await,
            };
            assert_eq!(answer.status, status, "{method} {path} {body}: {}", answer.text);
        }
        for file in
            ["<opml>\u{dc}d", " \n<?xml a?><!----><outline/>", "<!DOCTYPE opml>\n<opml a='\u{ff}' b:c=\"\" />\u{1f980}"]
        {
            let request = world.server.request("POST", "/api/opml/import").header("content-type", "text/x-opml");
            assert_eq!(answer(request.body(file)).await.status, 200, "{file}");
        }
    }
}

#[tokio::test]
async fn u6_undescribed_requests_are_refused() {
    for world in each().await {
        let blanks = format!("{}{}", " ".repeat(100), "n".repeat(101));
        for (method, path, body, names) in [
            // Also where what is too long would be left out of it.
            ("POST", "/api/folders", json!({ "name": blanks }), "`name`"),
            ("POST", "/api/folders", json!({ "name": "\u{99}\n\u{2028}" }), "`name`"),
            ("POST", "/api/feeds", json!({ "url": "http://e.org/", "title": " ".repeat(501) }), "`title`"),
            (
                "POST",
                "/api/webhooks",
                json!({ "url": "https://r.example", "description": " ".repeat(501) }),
                "`description`",
            ),
            ("POST", "/api/webhooks", json!({ "url": format!("https://r.example/{}", "x".repeat(2000)) }), "`url`"),
            ("POST", "/api/webhooks", json!({ "url": "https://r.example", "eventTypes": ["x"] }), "`eventTypes`"),
            ("POST", "/api/webhooks", json!({ "url": "https://r.example", "headers": { "": "x" } }), "`headers`"),
            ("POST", "/api/webhooks", json!({ "url": "https://r.example", "headers": { "a": "\n" } }), "`headers`"),
            ("PATCH", "/api/folders/reorder", json!({ "folderIds": [1, 1] }), "`folderIds`"),
            ("PATCH", "/api/feeds/1", json!({ "url": "" }), "`url`"),
        ] {
            let sentence = world.send(method, path, &body).await.error(400);
            assert!(sentence.contains(names), "{method} {path} {body}: {sentence}");
        }
        assert_eq!(world.get("/api/webhooks").await, json!([]));
        assert_eq!(world.get("/api/folders").await, json!([]));
    }
}

#[tokio::test]
async fn u6_description_has_the_limits() {
    for world in each().await {
        let document = world.get("/api/openapi.json").await;
        let installation = world.store.installation();
        let url = r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]*([/?][^#]*)?$";
        for (pointer, expect) in [
            ("/components/schemas/NewWebhook/properties/url/pattern", json!(url)),
            ("/components/schemas/WebhookPatch/properties/url/pattern", json!(url)),
            ("/components/schemas/NewWebhook/properties/headers/maxProperties", json!(20)),
            ("/components/schemas/NewWebhook/properties/eventTypes/items/enum/0", json!("entry.created")),
            ("/components/schemas/NewFeed/properties/url/maxLength", json!(4096)),
            ("/components/schemas/NewFeed/properties/title/maxLength", json!(500)),
            ("/components/schemas/FolderName/properties/name/maxLength", json!(200)),
            ("/components/schemas/FolderOrder/properties/folderIds/uniqueItems", json!(true)),
            ("/components/schemas/ImportForm/required/0", json!("file")),
        ] {
            assert_eq!(document.pointer(pointer), Some(&expect), "{pointer}");
        }
        let parameter = |path: &str, name: &str| -> Value {
            let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap();
            parameters.iter().find(|parameter| parameter["name"] == name).unwrap().clone()
        };
        for (path, begin) in [("/api/entries", "cur"), ("/api/outbox/deliveries", "dlv")] {
            let pattern = parameter(path, "cursor")["schema"]["pattern"].clone();
            assert!(pattern.as_str().unwrap().starts_with(&format!("^{begin}_{installation}[")), "{pattern}");
        }
        for name in ["hub.mode", "hub.topic", "hub.challenge"] {
            assert_eq!(parameter("/api/websub/callback", name)["required"], true, "{name}");
        }
    }
}
