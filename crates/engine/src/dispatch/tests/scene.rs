//! One delivery, workers over it that are stepped one by one, and what they log.

use domain::account::READER;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{
    LeaseTime,
    delivery::{Delivery, DeliveryFilter, NewWebhook, WebhookSecret},
    ports::{Clock, DeliveryStore},
};
use testkit::{FreshSqlite, SeededIds, SimulatedClock, fresh_sqlite};

use super::{
    faulty::{Faulty, MarkTrouble, Model},
    log,
    network::Network,
    worker::Worker,
};
use crate::settings::DeliverySettings;

/// Time is simulated, but a beat may take no longer than a third of this by the real clock either: more than the slowest
/// machine needs, and one test waits for it.
pub(super) const LEASE: Duration = Duration::from_secs(30);
pub(super) const BEAT: Duration = Duration::from_secs(10);

/// A store with one delivery, and workers over it.
pub(super) struct Scene {
    pub(super) database: FreshSqlite,
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) network: Arc<Network>,
    pub(super) model: Arc<Mutex<Model>>,
    /// Keeps the answers to renewals, and those that show a webhook, on their way while it is locked.
    pub(super) answers: Arc<tokio::sync::Mutex<()>>,
    /// What becomes of the next calls that store marks.
    pub(super) marks: Arc<Mutex<VecDeque<MarkTrouble>>>,
    secret: String,
}

impl Scene {
    pub(super) async fn new() -> Self {
        let database = fresh_sqlite().await;
        database.clock.set("2026-03-01T00:00:00Z".parse().unwrap());
        let store: Arc<dyn DeliveryStore> = Arc::new(database.store.clone());
        let secret = WebhookSecret::new(&SeededIds::new(1));
        let new = NewWebhook::to("https://r.example/", secret.clone());
        let webhook = store.create_webhook(READER, new).await.unwrap();
        store.test_webhook(READER, webhook.id).await.unwrap();
        let (network, model, answers, marks) = Default::default();
        Self { database, store, network, model, answers, marks, secret: secret.expose() }
    }

    /// A worker, and how likely its store fails.
    pub(super) fn worker(&self, number: u64) -> (Worker, Arc<Mutex<f64>>) {
        let trouble = Arc::new(Mutex::new(0.0));
        let store = Faulty {
            inner: Arc::clone(&self.store),
            clock: self.database.clock.clone(),
            model: Arc::clone(&self.model),
            chance: SeededIds::new(number),
            trouble: Arc::clone(&trouble),
            marks: Arc::clone(&self.marks),
            answers: Arc::clone(&self.answers),
        };
        let settings = DeliverySettings { lease: LeaseTime::new(LEASE).unwrap(), ..DeliverySettings::default() };
        let clock = SimulatedClock::at(self.database.clock.now());
        (Worker::start(store, &self.network, clock, settings, number), trouble)
    }

    /// A beat of a worker that stands still, for as long as a lease, between what it asks and the answer, or until it
    /// has given up waiting for that.
    pub(super) async fn beat_standing_still(&self, worker: &Worker, is_answered: bool) {
        let answers = self.answers.lock().await;
        let standing_still = async {
            let renewed = Some(self.database.clock.now() + LEASE);
            while self.delivery().await.lease_until != renewed {
                assert!(!worker.dispatcher.in_flight().leases().is_empty(), "there is nothing that it could renew");
                tokio::task::yield_now().await;
            }
            self.pass(&[worker], LEASE);
            if is_answered {
                drop(answers);
                return None;
            }
            Some(answers)
        };
        let ((), answers) = tokio::join!(worker.dispatcher.beat(), standing_still);
        drop(answers);
    }

    pub(super) fn pass(&self, workers: &[&Worker], by: Duration) {
        self.database.clock.advance(by);
        for worker in workers {
            worker.pass(by);
        }
    }

    pub(super) async fn delivery(&self) -> Delivery {
        self.store.deliveries(READER, DeliveryFilter::default(), 1, None).await.unwrap().deliveries.remove(0)
    }

    /// What was logged: who, about what, and never what is in it.
    pub(super) fn logged(&self, worker: &Worker, event: &str) -> String {
        let log = log::take();
        assert!(log.contains(&worker.dispatcher.owner) && log.contains(event), "FR-005 AC1: {log}");
        assert!(!log.contains(&self.secret) && !log.contains("r.example"), "NFR-003: {log}");
        log
    }
}
