//! Leases between processes: renewed while something is sent, taken over from the dead, lost by the frozen (FR-001 to
//! FR-005, requirements D4 to D7).
//!
//! Two processes can share a PostgreSQL only: an SQLite database is one process's at a time, so that what is shown
//! there is the next life of the same node.

use std::time::Duration;

use domain::ports::Clock;
use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::{Gate, Page, Receipt, SimulatedClock};

use super::{Scene, Shared, TEXT, delivered, delivery, drained, logged, until};
use crate::server::{Data, Server};

/// Nothing is given up meanwhile.
const LEASE: Duration = Duration::from_secs(3);
const BEAT: Duration = Duration::from_secs(1);
const FLAGS: [&str; 4] = ["--delivery-lease", "3s", "--delivery-timeout", "5m"];

/// A delivery that the first of two nodes is sending, and that is not answered while the gate is closed. The clock of the
/// database is the test's: no lease runs out because the machine is slow.
struct Held {
    clock: SimulatedClock,
    scene: Scene,
    gate: Gate,
    secret: String,
    shared: Shared,
    first: Server,
    second: Server,
}

impl Held {
    async fn by_the_first() -> Self {
        let (scene, shared, gate) = (Scene::start().await, Shared::new().await, Gate::default());
        // To the millisecond, as the database keeps it.
        let now = Timestamp::from_millisecond(SimulatedClock::default().now().as_millisecond()).unwrap();
        shared.database.set_now(now).await;
        let first = shared.start(&FLAGS);
        scene.receiver.answer_next("/a", [Page::ok().behind(&gate)]);
        let secret = scene.first_delivery(&first).await;
        scene.receiver.wait_in_flight("/a", 1).await;
        // It comes too late to claim it.
        let second = shared.start(&FLAGS);
        Self { clock: SimulatedClock::at(now), scene, gate, secret, shared, first, second }
    }

    /// The clock of the database moves on.
    async fn pass(&self, by: Duration) {
        self.clock.advance(by);
        self.shared.database.set_now(self.clock.now()).await;
    }

    /// The first is dead or frozen: its lease runs out, and the second sends the delivery. What the first asked of the
    /// database last may be done a moment later, so it may take more than one lease.
    async fn second_takes_over(&self) -> Vec<Receipt> {
        let owner = delivery(&self.second).await["leaseOwner"].clone();
        let taken_over = async || {
            let now = delivery(&self.second).await;
            if now["leaseOwner"] == owner && time(&now, "leaseUntil") > self.clock.now() {
                self.pass(LEASE).await;
            }
            (self.receipts() == 2).then_some(())
        };
        until("the second to take over", &self.second, taken_over).await;
        self.scene.receiver.receipts("/a").all()
    }

    fn receipts(&self) -> usize {
        self.scene.receiver.receipts("/a").count()
    }
}

fn time(delivery: &Value, field: &str) -> Timestamp {
    delivery[field].as_str().unwrap_or_else(|| panic!("no {field}: {delivery}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn fr_001_d5_long_send_keeps_its_lease() {
    let held = Held::by_the_first().await;
    let before = delivery(&held.second).await;
    let owner = before["leaseOwner"].clone();
    assert!(owner.is_string(), "{before}");
    // Three leases later, by the time of the database, it has never been the second's.
    let end = time(&before, "leaseUntil") + LEASE * 3;
    while held.clock.now() <= end {
        held.pass(BEAT).await;
        let renewed = async || {
            let now = delivery(&held.second).await;
            assert_eq!((&now["leaseOwner"], &now["deliveryStatus"]), (&owner, &json!("pending")), "{now}");
            (time(&now, "leaseUntil") == held.clock.now() + LEASE).then_some(())
        };
        until("a beat", &held.first, renewed).await;
    }
    assert_eq!(held.receipts(), 1, "the second never got it");

    held.gate.open();
    let delivered = delivered(&held.second).await;
    assert_eq!((&delivered["attempts"], &delivered["leaseOwner"]), (&json!(1), &Value::Null), "{delivered}");
    // What is renewed no longer would run out, and be taken.
    for server in [held.first, held.second] {
        let (status, log) = server.terminate();
        assert!(status.success() && !log.contains("stop_reason"), "a lease that is kept is nothing to warn of: {log}");
    }
    assert_eq!(held.scene.receiver.receipts("/a").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn fr_004_d7_another_node_takes_over_after_kill() {
    let held = Held::by_the_first().await;
    assert_eq!(held.receipts(), 1);
    held.first.signal("-KILL");
    let receipts = held.second_takes_over().await;
    assert_eq!(receipts[0].event_id(), receipts[1].event_id());
    assert_eq!(receipts[1].attempt(), Some(1), "FR-004 AC3: an attempt that was never marked is not counted");
    assert_eq!(receipts[1].is_verified, Some(true));
    let delivered = delivered(&held.second).await;
    assert_eq!(delivered["attempts"], 1, "{delivered}");
    let (status, log) = held.second.terminate();
    assert!(status.success(), "{log}");
    assert_eq!(held.scene.receiver.receipts("/a").count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn fr_002_fr_005_d6_late_mark_changes_nothing() {
    let held = Held::by_the_first().await;
    held.first.signal("-STOP");
    let receipts = held.second_takes_over().await;
    let before = delivered(&held.second).await;
    let sent_by_the_second = (receipts[1].attempt(), receipts[1].event_id());
    assert_eq!(sent_by_the_second, (Some(1), receipts[0].event_id()));

    // It wakes up, and has its answer.
    held.gate.open();
    held.first.signal("-CONT");
    let line = logged(&held.first, "stop_reason=\"lease_lost\"").await;
    for expect in [receipts[0].event_id(), "worker_id=", "error="] {
        assert!(line.contains(expect), "FR-005 AC1: no {expect}: {line}");
    }
    // At its end it has stored all the marks that it will.
    let (status, log) = held.first.terminate();
    assert!(status.success(), "{log}");
    for told in [TEXT, held.secret.as_str(), held.secret.trim_start_matches("whsec_")] {
        assert!(!log.contains(told), "no payload and no secret in a log: {log}");
    }
    let after = delivered(&held.second).await;
    assert_eq!(after, before, "FR-002 AC3: a late mark changes nothing");
    assert_eq!((&after["attempts"], after["attemptLog"].as_array().unwrap().len()), (&json!(1), 1), "{after}");
    assert!(!held.second.log().contains("stop_reason"), "the second lost nothing: {}", held.second.log());
    assert_eq!(held.scene.receiver.receipts("/a").count(), 2, "and nobody sends it once more");
    drop(held.shared);
}

#[tokio::test(flavor = "multi_thread")]
async fn fr_004_d7_sqlite_resumes_after_kill() {
    let (scene, folder) = (Scene::start().await, tempfile::tempdir().unwrap());
    let data = Data::Folder(folder.path());
    scene.receiver.answer_next("/a", [Page::hang()]);
    let server = Server::start(data, &FLAGS);
    scene.first_delivery(&server).await;
    scene.receiver.wait_in_flight("/a", 1).await;
    server.kill();
    let server = Server::start(data, &FLAGS);
    let receipts = scene.receiver.receipts("/a").wait_for(2).await;
    assert_eq!((receipts[1].attempt(), receipts[1].event_id()), (Some(1), receipts[0].event_id()));
    let delivered = delivered(&server).await;
    assert_eq!(delivered["attempts"], 1, "{delivered}");
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
    assert_eq!(scene.receiver.receipts("/a").count(), 2);
}

/// Nobody else is there to take it, and the node must not do so itself.
#[tokio::test(flavor = "multi_thread")]
async fn d6_d12_frozen_lone_node_goes_on() {
    let (scene, folder, gate) = (Scene::start().await, tempfile::tempdir().unwrap(), Gate::default());
    let server = Server::start(Data::Folder(folder.path()), &FLAGS);
    scene.receiver.answer_next("/a", [Page::ok().behind(&gate)]);
    scene.first_delivery(&server).await;
    scene.receiver.wait_in_flight("/a", 1).await;
    server.signal("-STOP");
    // A process that is frozen gives no sign of how much time has passed.
    tokio::time::sleep(2 * LEASE).await;
    server.signal("-CONT");
    // It has claimed again once there is something new.
    scene.publish(&server, &["first", "second"]).await;
    let receipts = scene.receiver.receipts("/a").wait_for(2).await;
    assert_ne!(receipts[0].event_id(), receipts[1].event_id(), "the first is still being sent");
    gate.open();
    drained(&server).await;
    let (status, log) = server.terminate();
    assert!(status.success() && !log.contains("stop_reason"), "it has lost nothing: {log}");
    assert_eq!(scene.receiver.receipts("/a").count(), 2, "each once");
}
