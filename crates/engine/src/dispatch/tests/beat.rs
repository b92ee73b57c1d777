//! The beat, step by step: what it renews, what it says, and when it ends.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{
    delivery::{Delivery, DeliveryFilter, DeliveryStatus, LeaseTime, NewWebhook, WebhookSecret},
    ports::{Clock, DeliveryStore},
};
use testkit::{FreshSqlite, SeededIds, SimulatedClock, fresh_sqlite};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

use super::{
    faulty::{Faulty, Model},
    network::Network,
    worker::Worker,
};
use crate::settings::DeliverySettings;

const LEASE: Duration = Duration::from_secs(3);
const BEAT: Duration = Duration::from_secs(1);

/// What is logged on this thread.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn listen(&self) -> DefaultGuard {
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_writer(self.clone());
        tracing::subscriber::set_default(subscriber.with_ansi(false).finish())
    }

    /// What was logged since this was last asked.
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl<'w> MakeWriter<'w> for Log {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A store with one delivery, and workers over it.
struct Bench {
    database: FreshSqlite,
    store: Arc<dyn DeliveryStore>,
    network: Arc<Network>,
    model: Arc<Mutex<Model>>,
    secret: String,
    log: Log,
}

impl Bench {
    async fn new() -> Self {
        let database = fresh_sqlite().await;
        database.clock.set("2026-03-01T00:00:00Z".parse().unwrap());
        let store: Arc<dyn DeliveryStore> = Arc::new(database.store.clone());
        let secret = WebhookSecret::new(&SeededIds::new(1));
        let new = NewWebhook::to("https://r.example/", secret.clone());
        let webhook = store.create_webhook(new).await.unwrap();
        store.test_webhook(webhook.id).await.unwrap();
        let (network, model, log) = (Arc::default(), Arc::default(), Log::default());
        Self { database, store, network, model, secret: secret.expose(), log }
    }

    /// A worker, and how likely its store fails.
    fn worker(&self, number: u64) -> (Worker, Arc<Mutex<f64>>) {
        let trouble = Arc::new(Mutex::new(0.0));
        let store = Faulty {
            inner: Arc::clone(&self.store),
            clock: self.database.clock.clone(),
            model: Arc::clone(&self.model),
            chance: SeededIds::new(number),
            trouble: Arc::clone(&trouble),
        };
        let settings = DeliverySettings { lease: LeaseTime::new(LEASE).unwrap(), ..DeliverySettings::default() };
        let clock = SimulatedClock::at(self.database.clock.now());
        (Worker::start(store, &self.network, clock, settings, number), trouble)
    }

    fn pass(&self, workers: &[&Worker], by: Duration) {
        self.database.clock.advance(by);
        for worker in workers {
            worker.pass(by);
        }
    }

    async fn delivery(&self) -> Delivery {
        self.store.deliveries(DeliveryFilter::default(), 1, None).await.unwrap().events.remove(0)
    }

    /// What was logged: who, about what, and never what is in it.
    fn logged(&self, worker: &Worker, event: &str) -> String {
        let log = self.log.take();
        assert!(log.contains(&worker.dispatcher.owner) && log.contains(event), "FR-005 AC1: {log}");
        assert!(!log.contains(&self.secret) && !log.contains("r.example"), "NFR-003: {log}");
        log
    }
}

#[tokio::test]
async fn fr_001_a_row_is_renewed_from_its_claim_until_its_mark_d5() {
    let bench = Bench::new().await;
    let (mut worker, _) = bench.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let claimed = bench.delivery().await;
    for beats in 1..=5 {
        if beats == 2 {
            // AC1: it is renewed while it waits, and while it is being sent.
            assert!(worker.begin().await);
        }
        bench.pass(&[&worker], BEAT);
        worker.dispatcher.beat().await;
        let now = bench.delivery().await;
        assert_eq!(now.lease_owner, claimed.lease_owner);
        assert_eq!(now.lease_until, Some(bench.database.clock.now() + LEASE), "AC2: forward, each time");
    }
    let _guard = bench.log.listen();
    bench.network.answer(0, Ok(200), None);
    worker.settle().await;
    worker.mark(1, || 0).await;
    assert!(bench.logged(&worker, &claimed.event_id).contains("stop_reason=\"completed\""), "FR-005 AC2");
    assert_eq!(bench.delivery().await.delivery_status, DeliveryStatus::Delivered);
    assert!(worker.dispatcher.held.leases().is_empty(), "AC3: it ends with the mark");
}

#[tokio::test]
async fn fr_002_a_row_that_is_not_its_own_is_left_alone_and_a_late_mark_changes_nothing_d6() {
    let bench = Bench::new().await;
    let ((mut first, _), (mut second, _)) = (bench.worker(1), bench.worker(2));
    first.dispatcher.claim().await.unwrap();
    assert!(first.begin().await);
    // The first stands still for longer than its lease.
    bench.pass(&[&first, &second], LEASE);
    second.dispatcher.claim().await.unwrap();
    let taken = bench.delivery().await;
    assert_eq!(taken.lease_owner.as_deref(), Some(second.dispatcher.owner.as_str()));
    let guard = bench.log.listen();
    first.dispatcher.beat().await;
    assert!(bench.logged(&first, &taken.event_id).contains("stop_reason=\"lease_lost\""), "FR-005 AC2");
    drop(guard);
    assert_eq!(bench.delivery().await, taken, "AC2: nothing of it is touched");
    assert!(first.dispatcher.held.leases().is_empty(), "and it is renewed no longer");
    // The attempt goes on, and its mark changes nothing.
    bench.network.answer(0, Ok(500), None);
    first.settle().await;
    let model = Arc::clone(&bench.model);
    first.mark(1, || model.lock().unwrap().skipped).await;
    assert_eq!(bench.delivery().await, taken, "AC3: the mark is guarded as well");
    assert!(second.begin().await);
    bench.network.answer(0, Ok(200), None);
    second.settle().await;
    second.mark(1, || model.lock().unwrap().skipped).await;
    let delivered = bench.delivery().await;
    assert_eq!((delivered.delivery_status, delivered.attempts), (DeliveryStatus::Delivered, 1));
}

#[tokio::test]
async fn fr_005_a_beat_that_fails_is_told_of_and_tried_again_while_the_lease_lasts_d6() {
    let bench = Bench::new().await;
    let (mut worker, trouble) = bench.worker(1);
    worker.dispatcher.claim().await.unwrap();
    assert!(worker.begin().await);
    let event = bench.delivery().await.event_id;
    let _guard = bench.log.listen();
    *trouble.lock().unwrap() = 1.0;
    bench.pass(&[&worker], BEAT);
    worker.dispatcher.beat().await;
    let log = bench.logged(&worker, &event);
    assert!(log.contains("as wanted") && !log.contains("stop_reason"), "AC1: with its error, and it goes on: {log}");
    *trouble.lock().unwrap() = 0.0;
    bench.pass(&[&worker], BEAT);
    worker.dispatcher.beat().await;
    assert_eq!(bench.delivery().await.lease_until, Some(bench.database.clock.now() + LEASE), "the next beat worked");
    // And now none works until the lease ends.
    *trouble.lock().unwrap() = 1.0;
    for _ in 0..2 {
        bench.pass(&[&worker], BEAT);
        worker.dispatcher.beat().await;
        assert!(!bench.log.take().contains("stop_reason"));
    }
    bench.pass(&[&worker], BEAT);
    worker.dispatcher.beat().await;
    assert!(bench.logged(&worker, &event).contains("stop_reason=\"renewal_failed\""), "AC2");
    // The attempt goes on all the same. Nobody else has taken the row: its mark counts.
    *trouble.lock().unwrap() = 0.0;
    bench.network.answer(0, Ok(200), None);
    worker.settle().await;
    worker.mark(1, || 0).await;
    assert_eq!(bench.delivery().await.delivery_status, DeliveryStatus::Delivered);
}

#[tokio::test]
async fn d6_what_waited_while_the_worker_stood_still_is_not_sent_by_it_if_another_has_it() {
    let bench = Bench::new().await;
    let ((mut first, _), (second, _)) = (bench.worker(1), bench.worker(2));
    first.dispatcher.claim().await.unwrap();
    bench.pass(&[&first, &second], LEASE);
    second.dispatcher.claim().await.unwrap();
    assert!(first.begin().await);
    assert_eq!(bench.network.sent_in_all(), 0, "it asked first");
}

#[tokio::test]
async fn d6_what_waited_too_long_but_is_still_its_own_is_sent_after_a_beat() {
    let bench = Bench::new().await;
    let (mut worker, _) = bench.worker(1);
    worker.dispatcher.claim().await.unwrap();
    bench.pass(&[&worker], LEASE);
    assert!(worker.begin().await);
    assert_eq!(bench.network.sent_in_all(), 1);
    assert_eq!(bench.delivery().await.lease_until, Some(bench.database.clock.now() + LEASE));
}

#[tokio::test]
async fn d12_a_worker_that_stood_still_renews_what_it_sends_before_it_claims() {
    let bench = Bench::new().await;
    let (mut worker, _) = bench.worker(1);
    worker.dispatcher.claim().await.unwrap();
    assert!(worker.begin().await);
    bench.pass(&[&worker], LEASE);
    let catch = worker.dispatcher.claim().await.unwrap();
    assert_eq!(catch.count, 0, "its own row is not free");
    assert_eq!(bench.delivery().await.lease_until, Some(bench.database.clock.now() + LEASE));
    bench.network.answer(0, Ok(200), None);
    worker.settle().await;
    worker.mark(1, || 0).await;
    assert_eq!(bench.delivery().await.delivery_status, DeliveryStatus::Delivered);
}

#[tokio::test]
async fn fr_005_a_row_that_a_worker_loses_to_itself_is_told_of_d6() {
    let bench = Bench::new().await;
    let (worker, _) = bench.worker(1);
    worker.dispatcher.claim().await.unwrap();
    let event = bench.delivery().await.event_id;
    // By the clock of the store the lease is over, by its own it is not.
    bench.database.clock.advance(LEASE);
    let _guard = bench.log.listen();
    let catch = worker.dispatcher.claim().await.unwrap();
    assert_eq!(catch.count, 1);
    let log = bench.logged(&worker, &event);
    assert_eq!(log.matches("lease_lost").count(), 1, "{log}");
}

#[tokio::test]
async fn d7_a_send_that_panics_frees_its_place_and_gives_its_row_back() {
    let bench = Bench::new().await;
    let (mut worker, _) = bench.worker(1);
    worker.dispatcher.claim().await.unwrap();
    bench.network.mine();
    assert!(worker.begin().await);
    worker.settle().await;
    assert_eq!(worker.dispatcher.desk().counts(), (0, 0));
    let delivery = bench.delivery().await;
    assert_eq!((delivery.lease_owner, delivery.attempts), (None, 0));
    worker.dispatcher.claim().await.unwrap();
    assert!(worker.begin().await);
    assert_eq!(bench.network.waiting(), 1, "and it is sent after all");
}
