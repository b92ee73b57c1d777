//! Nodes with roles: whoever only serves delivers nothing, and what is committed on one is delivered by another
//! (requirements D4, U4).

use reqwest::Method;
use testkit::{Gate, Page};

use super::{Scene, Shared, drained};
use crate::server::Server;

const ENTRIES: usize = 20;

/// Attempts that a node has made.
async fn attempts(server: &Server) -> usize {
    let metrics = server.get("/metrics").await;
    let count = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        name.starts_with("pirssonite_delivery_attempts_total").then(|| value.parse::<usize>().unwrap())
    };
    metrics.as_str().unwrap().lines().filter_map(count).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn u4_d4_only_workers_deliver() {
    let (scene, shared) = (Scene::start().await, Shared::new().await);
    let web = shared.start(&["--role", "web"]);
    let webhook = scene.webhook(&web, "/a").await["id"].clone();
    let queue = async || {
        let (status, queued) = web.call(Method::POST, &format!("/api/webhooks/{webhook}/test"), None).await;
        assert!((200..300).contains(&status), "{queued}");
    };
    for _ in 0..ENTRIES {
        queue().await;
    }
    let overview = web.get("/api/outbox/overview").await;
    assert_eq!((&overview["pending"], &overview["inFlight"]), (&ENTRIES.into(), &0.into()), "{overview}");
    let worker = shared.start(&["--role", "worker"]);
    scene.receiver.receipts("/a").wait_for(ENTRIES).await;
    drained(&web).await;
    // What is committed there while the worker has nothing to do is brought here as well, one by one.
    for more in 1..=ENTRIES {
        queue().await;
        scene.receiver.receipts("/a").wait_for(ENTRIES + more).await;
    }
    drained(&web).await;
    let receipts = scene.receiver.receipts("/a");
    assert_eq!((receipts.count(), receipts.forged()), (2 * ENTRIES, 0));
    assert_eq!((attempts(&web).await, attempts(&worker).await), (0, 2 * ENTRIES), "{}", worker.log());
    for server in [web, worker] {
        let (status, log) = server.terminate();
        assert!(status.success(), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_two_nodes_deliver_everything_once() {
    let (scene, shared, gate) = (Scene::start().await, Shared::new().await, Gate::default());
    // Nothing is given up or taken over because the machine is slow.
    let flags = ["--delivery-lease", "60s", "--delivery-timeout", "5m"];
    let nodes = [shared.start(&flags), shared.start(&flags)];
    let paths: Vec<String> = (0..10).map(|webhook| format!("/{webhook}")).collect();
    for path in &paths {
        scene.webhook(&nodes[0], path).await;
        scene.receiver.answer(path, Page::ok().behind(&gate));
    }
    scene.feed(&nodes[0]).await;
    let titles: Vec<String> = (0..50).map(|entry| format!("entry {entry}")).collect();
    scene.publish(&nodes[0], &titles.iter().map(String::as_str).collect::<Vec<_>>()).await;
    // Each node sends a webhook that it knows nothing of two at once: both are at it.
    for path in &paths {
        scene.receiver.wait_in_flight(path, 4).await;
    }
    gate.open();
    for path in &paths {
        scene.receiver.receipts(path).wait_for(titles.len()).await;
    }
    let overview = drained(&nodes[1]).await;
    assert_eq!(overview["failed"], 0, "{overview}");
    for path in &paths {
        let receipts = scene.receiver.receipts(path);
        assert_eq!((receipts.count(), receipts.forged()), (titles.len(), 0), "{path}: each once");
    }
    let made = attempts(&nodes[0]).await + attempts(&nodes[1]).await;
    assert_eq!(made, paths.len() * titles.len());
}
