//! The outbox: seen, queued again, called off.

use std::time::Duration;

use domain::delivery::Verdict;
use reqwest::Body;
use serde_json::{Value, json};

use super::world::{DELIVERY, each};
use crate::{
    server::answer,
    world::{fields, keys},
};

#[tokio::test]
async fn d10_overview_counts() {
    for world in each().await {
        let empty = json!({ "pending": 0, "ready": 0, "inFlight": 0, "failed": 0, "oldestPendingAge": null });
        assert_eq!(world.get("/api/outbox/overview").await, empty);
        let webhook = world.webhook(json!({})).await;
        world.test(&webhook).await;
        world.end(Verdict::Failed, Some(500)).await;
        world.test(&webhook).await;
        let overview = world.get("/api/outbox/overview").await;
        let numbers = |name: &str| overview[name].as_u64().unwrap();
        assert_eq!((numbers("pending"), numbers("ready"), numbers("inFlight"), numbers("failed")), (1, 1, 0, 1));
        assert!(numbers("oldestPendingAge") < 3600);
    }
}

#[tokio::test]
async fn d10_pages_neither_repeat_nor_skip() {
    for world in each().await {
        let (first, second) = (world.webhook(json!({})).await, world.webhook(json!({})).await);
        let mut tests = Vec::new();
        for number in 0..5 {
            tests.push(world.test(if number % 2 == 0 { &first } else { &second }).await);
        }
        tests.reverse();
        let ids = |page: &Value| -> Vec<String> {
            page["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
        };
        let whole = world.get("/api/outbox/deliveries").await;
        assert_eq!((ids(&whole), &whole["nextCursor"]), (tests.clone(), &json!(null)));
        assert_eq!(keys(&whole["events"][0]), fields(DELIVERY));
        let (mut seen, mut path) = (Vec::new(), "/api/outbox/deliveries?limit=2".to_owned());
        loop {
            let page = world.get(&path).await;
            seen.extend(ids(&page));
            let Some(cursor) = page["nextCursor"].as_str() else { break };
            path = format!("/api/outbox/deliveries?limit=2&cursor={cursor}");
        }
        assert_eq!(seen, tests);
        let of_second = world.get(&format!("/api/outbox/deliveries?webhookId={}", second["id"])).await;
        assert_eq!(ids(&of_second), [tests[1].clone(), tests[3].clone()]);
        world.end(Verdict::Delivered, Some(200)).await;
        assert_eq!(ids(&world.get("/api/outbox/deliveries?status=pending").await), Vec::<String>::new());
        assert_eq!(ids(&world.get("/api/outbox/deliveries?status=delivered&limit=500").await), tests);
        let none = world.get("/api/outbox/deliveries?status=delivered&webhookId=999").await;
        assert_eq!(none, json!({ "events": [], "nextCursor": null }));
    }
}

#[tokio::test]
async fn d10_f6_a_cursor_of_another_installation_is_400() {
    let worlds = each().await;
    let mut cursors = Vec::new();
    for world in &worlds {
        world.feed("/feed", 3).await;
        let webhook = world.webhook(json!({})).await;
        for _ in 0..2 {
            world.test(&webhook).await;
        }
        let next = async |path: &str| world.get(path).await["nextCursor"].as_str().unwrap().to_owned();
        cursors.push([next("/api/entries?limit=1").await, next("/api/outbox/deliveries?limit=1").await]);
    }
    for (world, [ours, theirs]) in worlds.iter().zip([[0, 1], [1, 0]]) {
        for (path, place) in [("/api/entries?cursor=", 0), ("/api/outbox/deliveries?cursor=", 1)] {
            world.get(&format!("{path}{}", cursors[ours][place])).await;
            let (foreign, of_other_page) = (cursors[theirs][place].as_str(), cursors[ours][1 - place].as_str());
            for bad in [foreign, of_other_page, "", "x", "dlv_1", "cur_1", "AAAA"] {
                let sentence = world.server.get(&format!("{path}{bad}")).await.error(400);
                assert_eq!(sentence, "`cursor`: expected the `nextCursor` of another page of this server", "{bad}");
            }
        }
    }
}

#[tokio::test]
async fn d10_a_delivery_is_shown_with_its_attempts() {
    for world in each().await {
        let id = world.test(&world.webhook(json!({})).await).await;
        let path = format!("/api/outbox/deliveries/{id}");
        assert_eq!(world.get(&path).await["attemptLog"], json!([]));
        world.end(Verdict::Retry(Duration::ZERO), None).await;
        world.end(Verdict::Delivered, Some(204)).await;
        let shown = world.get(&path).await;
        assert_eq!(keys(&shown), fields(&format!("{DELIVERY} attemptLog")));
        assert_eq!((&shown["deliveryStatus"], &shown["attempts"]), (&json!("delivered"), &json!(2)));
        assert_eq!((&shown["maxAttempts"], &shown["lastStatusCode"]), (&json!(16), &json!(204)));
        assert!(shown["deliveredAt"].as_str().unwrap().ends_with('Z'));
        let log = shown["attemptLog"].as_array().unwrap();
        assert_eq!(log.len(), 2);
        assert_eq!(keys(&log[0]), fields("number at durationMs statusCode answer error"));
        assert_eq!(
            (&log[0]["number"], &log[0]["statusCode"], &log[0]["error"]),
            (&json!(1), &json!(null), &json!("no route"))
        );
        assert_eq!(
            (&log[1]["number"], &log[1]["statusCode"], &log[1]["answer"]),
            (&json!(2), &json!(204), &json!("said"))
        );
        assert_eq!(log[1]["durationMs"], 12);
    }
}

#[tokio::test]
async fn d10_requeue_and_cancel_by_state() {
    for world in each().await {
        let webhook = world.webhook(json!({})).await;
        let id = world.test(&webhook).await;
        let [requeue, cancel] = ["requeue", "cancel"].map(|action| format!("/api/outbox/deliveries/{id}/{action}"));
        let event = world.get(&format!("/api/outbox/deliveries/{id}")).await["eventId"].clone();
        let status = |delivery: &Value| delivery["deliveryStatus"].as_str().unwrap().to_owned();

        assert!(world.server.call("POST", &requeue).await.error(409).starts_with("this delivery is pending: only"));
        world.end(Verdict::Delivered, Some(200)).await;
        assert!(world.server.call("POST", &cancel).await.error(409).starts_with("this delivery was delivered: only"));
        let again = world.server.call("POST", &requeue).await.ok(200);
        assert_eq!(keys(&again), fields(DELIVERY));
        assert_eq!((status(&again).as_str(), &again["attempts"], &again["eventId"]), ("pending", &json!(0), &event));
        world.end(Verdict::Failed, Some(500)).await;
        let again = world.server.call("POST", &requeue).await.ok(200);
        assert_eq!(status(&again), "pending");
        let cancelled = world.send("POST", &cancel, &json!({ "reason": " no  longer\nwanted " })).await.ok(200);
        assert_eq!((status(&cancelled).as_str(), &cancelled["reason"]), ("cancelled", &json!("no longer wanted")));
        for path in [&cancel, &requeue] {
            assert!(world.server.call("POST", path).await.error(409).starts_with("this delivery was cancelled: only"));
        }
        // A reason is not needed, nor is a body.
        let failed = world.test(&webhook).await;
        world.end(Verdict::Failed, None).await;
        let cancelled = world.server.call("POST", &format!("/api/outbox/deliveries/{failed}/cancel")).await.ok(200);
        assert_eq!((status(&cancelled).as_str(), &cancelled["reason"]), ("cancelled", &json!("no reason given")));
        for body in [Body::from(""), Body::wrap_stream(futures_util::stream::empty::<std::io::Result<Vec<u8>>>())] {
            let path = format!("/api/outbox/deliveries/{}/cancel", world.test(&webhook).await);
            let request = world.server.request("POST", &path).header("content-type", "application/json").body(body);
            assert_eq!(answer(request).await.ok(200)["reason"], "no reason given");
        }
        let last = world.test(&webhook).await;
        let cancelled = world.send("POST", &format!("/api/outbox/deliveries/{last}/cancel"), &json!({})).await.ok(200);
        assert_eq!(status(&cancelled), "cancelled");
        assert_eq!(world.end(Verdict::Delivered, Some(200)).await, 0);
    }
}

#[tokio::test]
async fn d10_old_paths_answer_as_new_ones() {
    for world in each().await {
        let webhook = world.webhook(json!({})).await;
        let id = world.test(&webhook).await;
        world.end(Verdict::Failed, Some(500)).await;
        for path in ["", "?status=failed&limit=1", "?page=2", "/dlv_1", &format!("/{id}")] {
            let [old, new] = ["events", "deliveries"].map(|name| format!("/api/outbox/{name}{path}"));
            let (old, new) = (world.server.get(&old).await, world.server.get(&new).await);
            assert_eq!((old.status, old.text), (new.status, new.text), "{path}");
        }
        let old = |action: &str| format!("/api/outbox/events/{id}/{action}");
        assert_eq!(world.server.call("POST", &old("requeue")).await.ok(200)["deliveryStatus"], "pending");
        let cancelled = world.send("POST", &old("cancel"), &json!({ "reason": "old" })).await.ok(200);
        assert_eq!((&cancelled["deliveryStatus"], &cancelled["reason"]), (&json!("cancelled"), &json!("old")));
        world.server.call("POST", &format!("{}?x=1", old("cancel"))).await.error(400);
    }
}

#[tokio::test]
async fn d10_unknown_delivery_is_404() {
    for world in each().await {
        let id = world.test(&world.webhook(json!({})).await).await;
        let nobody = format!("dlv_{}", "f".repeat(24));
        for other in [nobody.as_str(), "1", "dlv_", "x", "%FF", "%00", "evt_1", &id.to_uppercase(), &id[..id.len() - 1]]
        {
            let path = format!("/api/outbox/deliveries/{other}");
            assert_eq!(world.server.get(&path).await.error(404), "there is no such delivery", "{other}");
            for action in ["requeue", "cancel"] {
                let said = world.server.call("POST", &format!("{path}/{action}")).await.error(404);
                assert_eq!(said, "there is no such delivery", "{other} {action}");
            }
        }
    }
}

#[tokio::test]
async fn d10_requeue_of_all_failed() {
    for world in each().await {
        let none = json!({ "eventTypes": [] });
        let (first, second) = (world.webhook(none.clone()).await, world.webhook(none).await);
        for webhook in [&first, &first, &second] {
            world.test(webhook).await;
        }
        world.end(Verdict::Failed, Some(500)).await;
        let again = json!({ "webhookId": first["id"] });
        assert_eq!(world.send("POST", "/api/outbox/requeue", &again).await.ok(200), json!({ "requeued": 2 }));
        assert_eq!(world.send("POST", "/api/outbox/requeue", &again).await.ok(200), json!({ "requeued": 0 }));
        let overview = world.get("/api/outbox/overview").await;
        assert_eq!((&overview["pending"], &overview["failed"]), (&json!(2), &json!(1)));
        let missing = world.send("POST", "/api/outbox/requeue", &json!({ "webhookId": 999 })).await;
        assert_eq!(missing.error(404), "there is no such webhook");
    }
}
