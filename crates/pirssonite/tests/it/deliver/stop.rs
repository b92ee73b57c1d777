//! A node that is told to stop takes no more, ends what it sends, and releases the rest at once (requirement D7).

use serde_json::json;
use testkit::{Gate, Page};

use super::{Scene, Shared, deliveries, until};
use crate::server::Server;

/// A webhook that nothing is known of is sent two at once, and two more wait; or one, if the machine is so slow that the
/// receiver seems to be.
const WEBHOOKS: usize = 50;
const SENDING: usize = 2 * WEBHOOKS;
const WAITING_MIN: usize = WEBHOOKS;

/// For each webhook.
const ENTRIES: usize = 10;

/// Only what is released is another's before the test ends, and nothing is given up.
const FLAGS: [&str; 4] = ["--delivery-lease", "5m", "--delivery-timeout", "5m"];

fn path(webhook: usize) -> String {
    format!("/{webhook}")
}

/// How many came to all webhooks.
fn received(scene: &Scene) -> usize {
    (0..WEBHOOKS).map(|webhook| scene.receiver.receipts(&path(webhook)).count()).sum()
}

/// How many wait for their answers.
fn in_flight(scene: &Scene) -> usize {
    (0..WEBHOOKS).map(|webhook| scene.receiver.in_flight(&path(webhook))).sum()
}

/// Waits until the overview has this.
async fn overview_has(server: &Server, field: &str, count: usize) {
    let is_so = async || Some(server.get("/api/outbox/overview").await).filter(|overview| overview[field] == count);
    until(&format!("{count} {field}"), server, is_so).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_sigterm_hands_over_at_once() {
    let (scene, shared, gate) = (Scene::start().await, Shared::new().await, Gate::default());
    let first = shared.start(&FLAGS);
    for webhook in 0..WEBHOOKS {
        scene.webhook(&first, &path(webhook)).await;
        let held = Page::ok().behind(&gate);
        scene.receiver.answer_next(&path(webhook), [held.clone(), held]);
    }
    scene.feed(&first).await;
    let titles: Vec<String> = (0..=ENTRIES).map(|entry| format!("entry {entry}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    scene.publish(&first, &titles[..ENTRIES]).await;
    let all = ENTRIES * WEBHOOKS;
    let some_wait = async || {
        let held = first.get("/api/outbox/overview").await["inFlight"].as_u64().unwrap();
        (held >= (SENDING + WAITING_MIN) as u64).then_some(())
    };
    until("what waits", &first, some_wait).await;
    until("all sends", &first, async || (in_flight(&scene) == SENDING).then_some(())).await;
    let owner =
        deliveries(&first).await.into_iter().find_map(|delivery| delivery["leaseOwner"].as_str().map(str::to_owned));
    let owner = owner.expect("somebody sends them");
    let held_by_it = async |server: &Server| {
        let found = deliveries(server).await;
        found.iter().filter(|delivery| delivery["leaseOwner"] == *owner).count()
    };

    // Another node has all that the first has not claimed, and no more.
    let second = shared.start(&FLAGS);
    let only_its_own = async || {
        let pending = second.get("/api/outbox/overview").await["pending"].clone();
        Some(held_by_it(&second).await).filter(|held| pending == *held)
    };
    let waiting = until("all but its own", &second, only_its_own).await - SENDING;
    assert!(waiting >= WAITING_MIN, "what it has claimed it keeps: {waiting}");
    assert_eq!(received(&scene), all - waiting, "what the first has claimed is its own");

    // Told to stop, the first releases what it has not begun, while it sends the rest.
    first.signal("-TERM");
    overview_has(&second, "pending", SENDING).await;
    assert_eq!(received(&scene), all, "the second has taken them over");
    assert_eq!((in_flight(&scene), held_by_it(&second).await), (SENDING, SENDING), "the first is still at it");
    // It takes no more, although there is more.
    scene.publish(&second, &titles).await;
    overview_has(&second, "pending", SENDING).await;
    assert_eq!((received(&scene), in_flight(&scene)), (all + WEBHOOKS, SENDING));

    gate.open();
    let (status, log) = first.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("stop_reason") && !log.contains("released"), "all ended well: {log}");
    let overview = second.get("/api/outbox/overview").await;
    assert_eq!((&overview["pending"], &overview["failed"]), (&json!(0), &json!(0)), "all marked: {overview}");
    assert_eq!(received(&scene), all + WEBHOOKS, "each once");
    for delivery in deliveries(&second).await {
        assert_eq!(
            (&delivery["deliveryStatus"], &delivery["attempts"]),
            (&json!("delivered"), &json!(1)),
            "{delivery}"
        );
    }
}
