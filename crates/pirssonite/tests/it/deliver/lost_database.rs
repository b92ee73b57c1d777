//! The database goes away while something is sent: that is said, the beat goes on, and nothing is sent twice while the
//! lease lasts (FR-005, requirements D6, D12).

use serde_json::json;
use testkit::{FreshPostgres, Gate, Page, fresh_postgres};

use super::{Scene, Shared, TEXT, delivered, logged, until};
use crate::{lost_database::allow, server::Server};

/// A delivery that waits for its answer.
struct Waiting {
    scene: Scene,
    gate: Gate,
    shared: Shared,
    /// Whoever shuts a database must not be in it: this is the door.
    door: FreshPostgres,
    server: Server,
}

impl Waiting {
    async fn start(lease: &str) -> Self {
        let (scene, shared, gate) = (Scene::start().await, Shared::new().await, Gate::default());
        let server = shared.start(&["--delivery-lease", lease, "--delivery-timeout", "5m"]);
        scene.receiver.answer_next("/a", [Page::ok().behind(&gate)]);
        scene.first_delivery(&server).await;
        scene.receiver.wait_in_flight("/a", 1).await;
        Self { scene, gate, shared, door: fresh_postgres().await, server }
    }

    async fn shut(&self) {
        allow(&self.door, &self.shared.database, false).await;
    }

    async fn open(&self) {
        allow(&self.door, &self.shared.database, true).await;
        until("the database", &self.server, async || {
            (self.server.call(reqwest::Method::GET, "/readyz", None).await.0 == 200).then_some(())
        })
        .await;
    }

    fn event_id(&self) -> String {
        self.scene.receiver.receipts("/a").all()[0].event_id().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_failed_beat_is_logged_and_retried() {
    // Of its three beats one fails; a second must not because the machine is slow.
    let waiting = Waiting::start("30s").await;
    waiting.shut().await;
    let line = logged(&waiting.server, "lease renewal failed").await;
    for expect in [waiting.event_id().as_str(), "worker_id=", "error="] {
        assert!(line.contains(expect), "FR-005 AC1: no {expect}: {line}");
    }
    waiting.open().await;
    waiting.gate.open();
    let delivered = delivered(&waiting.server).await;
    assert_eq!(delivered["attempts"], 1, "{delivered}");
    let (status, log) = waiting.server.terminate();
    assert!(status.success() && !log.contains("stop_reason"), "the lease was kept: {log}");
    assert!(!log.contains(TEXT), "{log}");
    assert_eq!(waiting.scene.receiver.receipts("/a").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_lost_lease_is_logged_and_event_delivered() {
    let waiting = Waiting::start("600ms").await;
    waiting.shut().await;
    let line = logged(&waiting.server, "stop_reason=\"renewal_failed\"").await;
    for expect in [waiting.event_id().as_str(), "worker_id=", "error="] {
        assert!(line.contains(expect), "FR-005 AC1: no {expect}: {line}");
    }
    // The answer comes while nobody can be told of it, and its mark waits.
    waiting.gate.open();
    logged(&waiting.server, "marks waiting for store").await;
    waiting.open().await;
    // Whether that mark is stored first, or the row is claimed again before.
    let delivered = delivered(&waiting.server).await;
    assert_eq!(delivered["attempts"], json!(1), "{delivered}");
    let (status, log) = waiting.server.terminate();
    assert!(status.success(), "{log}");
    let receipts = waiting.scene.receiver.receipts("/a").all();
    assert!(receipts.len() <= 2, "{receipts:?}");
    assert!(receipts.iter().all(|receipt| receipt.event_id() == receipts[0].event_id()));
}
