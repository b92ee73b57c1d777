//! Webhooks: made, listed, changed, removed.

use domain::account::READER;
use domain::{
    WebhookId,
    delivery::{NewWebhook, WebhookSecret},
};
use serde_json::{Value, json};

use super::world::{WEBHOOK, World, each};
use crate::world::{fields, keys};

/// A webhook's secret: what it begins with, and 32 bytes in base64.
fn is_secret(text: &Value) -> bool {
    let rest = text.as_str().and_then(|text| text.strip_prefix("whsec_")).unwrap_or_default();
    rest.len() == 44
        && rest.ends_with('=')
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

#[tokio::test]
async fn d1_secret_of_new_webhook_is_shown_once() {
    for world in each().await {
        assert_eq!(world.get("/api/webhooks").await, json!([]));
        let answer = world.send("POST", "/api/webhooks", &json!({ "url": " https://r.example/hook?a=b " })).await;
        let made = answer.ok(201);
        assert_eq!(keys(&made), fields(&format!("{WEBHOOK} secret")));
        assert!(is_secret(&made["secret"]), "{made}");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("location"), format!("/api/webhooks/{}", made["id"]));
        let expected = json!({
            "id": made["id"], "url": "https://r.example/hook?a=b", "description": null, "enabled": true,
            "eventTypes": null, "feedIds": null, "folderIds": null, "headers": {}, "includeContent": true,
            "backlog": false, "ratePerSecond": null, "breakerOpen": false, "heldUntil": null, "consecutiveFailures": 0, "disabledReason": null, "createdAt": made["createdAt"],
        });
        let one = world.server.get(answer.header("location")).await;
        assert_eq!(one.ok(200), expected);
        let all = world.server.get("/api/webhooks").await;
        assert_eq!(all.ok(200), json!([expected]));
        let other = world.webhook(json!({})).await;
        assert_ne!(other["secret"], made["secret"]);
        for text in [one.text, all.text] {
            assert!(!text.contains("secret") && !text.contains("whsec_"), "{text}");
        }
    }
}

#[tokio::test]
async fn d1_webhook_fields_are_kept() {
    for world in each().await {
        let (feed, folder) = (world.feed("/feed", 1).await, world.folder("Daily").await);
        let wanted = json!({
            "url": "http://127.0.0.5/hook", "description": " to the kitchen\nradio\u{0} ", "enabled": false,
            "eventTypes": ["feed.gone", "entry.created", "feed.gone"], "feedIds": [feed["id"], feed["id"]],
            "folderIds": [folder["id"]], "headers": { "Authorization": " Bearer x ", "x-b": "" },
            "includeContent": false, "backlog": true,
        });
        let made = world.webhook(wanted).await;
        for (field, expect) in [
            ("url", json!("http://127.0.0.5/hook")),
            ("description", json!("to the kitchen\nradio")),
            ("enabled", json!(false)),
            ("eventTypes", json!(["feed.gone", "entry.created"])),
            ("feedIds", json!([feed["id"]])),
            ("folderIds", json!([folder["id"]])),
            ("headers", json!({ "Authorization": "***", "x-b": "***" })),
            ("includeContent", json!(false)),
            ("backlog", json!(true)),
        ] {
            assert_eq!(made[field], expect, "{field}");
        }
        assert_eq!(world.get(&format!("/api/webhooks/{}", made["id"])).await["headers"], made["headers"]);
    }
}

#[tokio::test]
async fn d1_a_url_that_is_shown_can_be_sent_back() {
    for world in each().await {
        // Each becomes six characters.
        let url = |letters: usize| format!("https://receiver.example/{}", "ä".repeat(letters));
        let made = world.webhook(json!({ "url": url(998) })).await;
        let shown = made["url"].as_str().unwrap();
        assert_eq!(shown.len(), 6013);
        let path = format!("/api/webhooks/{}", made["id"]);
        let same = world.send("PATCH", &path, &json!({ "url": shown, "description": "same" })).await.ok(200);
        assert_eq!((&same["url"], &same["description"]), (&made["url"], &json!("same")));
        let longer = world.send("POST", "/api/webhooks", &json!({ "url": url(999) })).await;
        assert!(longer.error(400).contains("longer than 6016 characters when it is percent-encoded"));
        // What is not stored has no more than may be written.
        for url in [format!("{shown}x"), format!(" {shown}")] {
            let other = world.send("PATCH", &path, &json!({ "url": url })).await;
            assert!(other.error(400).contains("longer than 2000 characters"));
        }
        assert!(world.send("POST", "/api/webhooks", &json!({ "url": shown })).await.error(400).contains("2000"));
        world.send("PATCH", "/api/webhooks/99", &json!({ "url": shown })).await.error(404);
    }
}

#[tokio::test]
async fn u8_private_webhook_url_is_refused() {
    for world in each().await {
        let path = format!("/api/webhooks/{}", world.webhook(json!({})).await["id"]);
        for (url, names) in [
            ("http://192.168.1.5/hook", "192.168.1.5"),
            ("http://0xa000001:81/", "10.0.0.1:81"),
            ("http://[::1]/", "[::1]"),
            ("https://169.254.169.254/latest", "169.254.169.254"),
        ] {
            let sentence = format!("`url`: the address of {names} is not public; `allow_networks` can allow it");
            for (method, path) in [("POST", "/api/webhooks"), ("PATCH", &path)] {
                assert_eq!(world.send(method, path, &json!({ "url": url })).await.error(400), sentence);
            }
        }
        assert_eq!(world.get("/api/webhooks").await.as_array().unwrap().len(), 1);
        assert_eq!(world.get(&path).await["url"], "https://receiver.example/hook");
        // What is allowed, and a name that cannot be resolved now.
        for url in ["http://127.0.0.1:9/", "http://localhost/", "https://no-such-name.invalid/"] {
            assert_eq!(world.send("PATCH", &path, &json!({ "url": url })).await.ok(200)["url"], url);
        }
    }
}

#[tokio::test]
async fn u8_webhook_with_disallowed_url_can_be_changed() {
    for world in each().await {
        let secret = WebhookSecret::parse("whsec_b2xk").unwrap();
        let stored = world.store.create_webhook(READER, NewWebhook::to("http://10.0.0.1/", secret)).await.unwrap();
        let path = format!("/api/webhooks/{}", stored.id);
        let wanted = json!({ "url": "http://10.0.0.1/", "enabled": false });
        assert_eq!(world.send("PATCH", &path, &wanted).await.ok(200)["enabled"], false);
    }
}

#[tokio::test]
async fn d1_header_values_are_masked() {
    for world in each().await {
        let secret = "hunter2";
        let headers = json!({ "Authorization": secret });
        let made = world.webhook(json!({ "headers": headers })).await;
        let path = format!("/api/webhooks/{}", made["id"]);
        for shown in [
            made.clone(),
            world.get(&path).await,
            world.get("/api/webhooks").await,
            world.send("PATCH", &path, &json!({ "headers": headers })).await.ok(200),
            world.server.call("POST", &format!("{path}/rotate-secret")).await.ok(200),
        ] {
            assert!(!shown.to_string().contains(secret) && shown.to_string().contains("***"), "{shown}");
        }
        assert_eq!(stored_headers(&world, &made).await, [("Authorization".to_owned(), secret.to_owned())]);
        let debug = format!("{:?}", world.store.webhooks(READER).await.unwrap());
        assert!(!debug.contains(secret), "{debug}");
    }
}

#[tokio::test]
async fn d1_a_masked_header_keeps_its_stored_value() {
    for world in each().await {
        let made = world.webhook(json!({ "headers": { "Authorization": "hunter2", "X-B": "b" } })).await;
        let path = format!("/api/webhooks/{}", made["id"]);
        let wanted = json!({ "headers": { "authorization": "***", "X-C": "c" } });
        let patched = world.send("PATCH", &path, &wanted).await.ok(200);
        assert_eq!(patched["headers"], json!({ "authorization": "***", "X-C": "***" }));
        let kept =
            [("authorization", "hunter2"), ("X-C", "c")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(stored_headers(&world, &made).await, kept);
        let unknown = "`headers`: `***` keeps the stored value of `X-B`, but none is stored: send its value";
        let wanted = json!({ "headers": { "X-C": "***", "X-B": "***" } });
        assert_eq!(world.send("PATCH", &path, &wanted).await.error(400), unknown);
        let wanted = json!({ "url": "https://receiver.example/", "headers": { "X-B": "***" } });
        assert_eq!(world.send("POST", "/api/webhooks", &wanted).await.error(400), unknown);
        assert_eq!(stored_headers(&world, &made).await, kept, "nothing has changed");
        world.send("PATCH", "/api/webhooks/999", &json!({ "headers": { "X-B": "***" } })).await.error(404);
    }
}

#[tokio::test]
async fn d1_stored_header_values_go_to_no_other_server() {
    for world in each().await {
        let url = "https://receiver.example/hook";
        let made = world.webhook(json!({ "url": url, "headers": { "Authorization": "hunter2" } })).await;
        let path = format!("/api/webhooks/{}", made["id"]);
        let masked = json!({ "Authorization": "***" });
        for other in ["https://evil.example/", "http://receiver.example/hook", "https://receiver.example:8443/hook"] {
            for wanted in [json!({ "url": other }), json!({ "url": other, "headers": masked })] {
                let refused = world.send("PATCH", &path, &wanted).await.error(400);
                assert!(refused.contains("not sent to another server"), "{refused}");
            }
        }
        assert_eq!(world.get(&path).await["url"], url, "nothing has changed");
        let moved = json!({ "url": "https://receiver.example/other", "headers": masked });
        world.send("PATCH", &path, &moved).await.ok(200);
        assert_eq!(stored_headers(&world, &made).await, [("Authorization".to_owned(), "hunter2".to_owned())]);
        let moved = json!({ "url": "https://other.example/", "headers": { "Authorization": "hunter3" } });
        world.send("PATCH", &path, &moved).await.ok(200);
        assert_eq!(stored_headers(&world, &made).await, [("Authorization".to_owned(), "hunter3".to_owned())]);
        let moved = json!({ "url": "https://third.example/", "headers": null });
        world.send("PATCH", &path, &moved).await.ok(200);
        world.send("PATCH", &path, &json!({ "url": "https://fourth.example/" })).await.ok(200);
    }
}

/// The headers that are sent, with their values.
async fn stored_headers(world: &World, webhook: &Value) -> Vec<(String, String)> {
    let id = WebhookId(webhook["id"].as_i64().unwrap());
    let stored = world.store.webhook(READER, id).await.unwrap().unwrap().headers;
    stored.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect()
}

#[tokio::test]
async fn d1_webhook_patch_changes_fields_and_null_clears() {
    for world in each().await {
        let (feed, folder) = (world.feed("/feed", 1).await, world.folder("Daily").await);
        let path = format!("/api/webhooks/{}", world.webhook(json!({})).await["id"]);
        for (patch, field, expected) in [
            (json!({ "url": "https://other.example/" }), "url", json!("https://other.example/")),
            (json!({}), "url", json!("https://other.example/")),
            (json!({ "description": "mine" }), "description", json!("mine")),
            (json!({ "enabled": false }), "description", json!("mine")),
            (json!({ "description": null }), "description", Value::Null),
            (json!({}), "enabled", json!(false)),
            (json!({ "enabled": true }), "enabled", json!(true)),
            (json!({ "eventTypes": ["feed.gone"] }), "eventTypes", json!(["feed.gone"])),
            (json!({ "eventTypes": [] }), "eventTypes", json!([])),
            (json!({ "eventTypes": null }), "eventTypes", Value::Null),
            (json!({ "feedIds": [feed["id"]] }), "feedIds", json!([feed["id"]])),
            (json!({ "feedIds": [] }), "feedIds", json!([])),
            (json!({ "feedIds": null }), "feedIds", Value::Null),
            (json!({ "folderIds": [folder["id"]] }), "folderIds", json!([folder["id"]])),
            (json!({ "folderIds": null }), "folderIds", Value::Null),
            (json!({ "headers": { "X-A": "b" } }), "headers", json!({ "X-A": "***" })),
            (json!({ "headers": null }), "headers", json!({})),
            (json!({ "includeContent": false }), "includeContent", json!(false)),
            (json!({ "backlog": true }), "backlog", json!(true)),
        ] {
            let patched = world.send("PATCH", &path, &patch).await.ok(200);
            assert_eq!(patched[field], expected, "{patch}");
            assert_eq!(keys(&patched), fields(WEBHOOK));
            assert_eq!(world.get(&path).await[field], expected, "{patch}");
        }
        for patch in [json!({}), json!({ "feedIds": [] })] {
            assert_eq!(world.send("PATCH", "/api/webhooks/999", &patch).await.error(404), "there is no such webhook");
        }
    }
}

#[tokio::test]
async fn d1_new_feed_and_folder_ids_must_exist() {
    for world in each().await {
        let (feed, folder) = (world.feed("/feed", 1).await, world.folder("Daily").await);
        let named = json!({ "feedIds": [feed["id"]], "folderIds": [folder["id"]] });
        let made = world.webhook(named.clone()).await;
        let path = format!("/api/webhooks/{}", made["id"]);
        for gone in [format!("/api/feeds/{}", feed["id"]), format!("/api/folders/{}", folder["id"])] {
            assert_eq!(world.server.call("DELETE", &gone).await.status, 204);
        }
        // What was removed widens nothing, and keeps nobody from changing the rest.
        let kept =
            world.send("PATCH", &path, &json!({ "description": "still", "feedIds": [feed["id"]] })).await.ok(200);
        assert_eq!((&kept["feedIds"], &kept["folderIds"]), (&named["feedIds"], &named["folderIds"]));
        for (field, what) in [("feedIds", "feed"), ("folderIds", "folder")] {
            for (body, id) in
                [(json!({ field: [998] }), json!(998)), (json!({ field: [named[field][0], 999] }), json!(999))]
            {
                let refused = world.send("PATCH", &path, &body).await.error(404);
                assert_eq!(refused, format!("`{field}`: there is no {what} {id}"));
            }
            let new = json!({ "url": "https://r.example/", field: named[field] });
            assert!(world.send("POST", "/api/webhooks", &new).await.error(404).contains(field));
        }
        assert_eq!(world.get("/api/webhooks").await.as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn d1_deleted_webhook_takes_its_deliveries() {
    for world in each().await {
        let webhook = world.webhook(json!({})).await;
        let delivery = world.test(&webhook).await;
        let path = format!("/api/webhooks/{}", webhook["id"]);
        assert_eq!(world.server.call("DELETE", &path).await.status, 204);
        assert_eq!(world.server.call("DELETE", &path).await.error(404), "there is no such webhook");
        world.server.get(&path).await.error(404);
        world.server.get(&format!("/api/outbox/deliveries/{delivery}")).await.error(404);
        assert_eq!(world.get("/api/outbox/overview").await["pending"], 0);
    }
}

#[tokio::test]
async fn d1_webhooks_are_bounded() {
    for world in each().await {
        fill(&world, 1000).await;
        let refused = world.send("POST", "/api/webhooks", &json!({ "url": "https://r.example/" })).await.error(409);
        assert!(refused.contains("1000 webhooks"), "{refused}");
        assert_eq!(world.server.call("DELETE", "/api/webhooks/1").await.status, 204);
        world.webhook(json!({})).await;
    }
}

async fn fill(world: &World, count: usize) {
    let new = domain::delivery::NewWebhook {
        enabled: false,
        ..domain::delivery::NewWebhook::to(
            "https://r.example/",
            domain::delivery::WebhookSecret::parse("whsec_b2xk").unwrap(),
        )
    };
    for _ in 0..count {
        world.store.create_webhook(READER, new.clone()).await.unwrap();
    }
}
