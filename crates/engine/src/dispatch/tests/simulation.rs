//! Many workers over the real dispatch code and a real store, driven by one seed: crashes, pauses, a store that fails
//! before or after it has done its work, clocks that jump, receivers that answer anything. Never two live leases on a
//! row, never a lost event, attempts bounded.

use domain::account::READER;
use domain::ports::Viewer;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{
    DeliveryId, LeaseTime, NewFeed, WebhookId,
    delivery::{
        DeliveryFilter, DeliveryStatus, EventType, NewWebhook, RetryRules, WebhookPatch, WebhookSecret, number_of,
    },
    feed_state::FeedAddress,
    ingest::{Document, Hash, IncomingEntry},
    ports::{Clock, DeliveryStore, FeedStore, HttpError, Ids, Store},
};
use jiff::SignedDuration;
use store::SqliteStore;
use testkit::{FreshSqlite, SeededIds, SimulatedClock, fresh_sqlite};

use super::{
    faulty::{Faulty, Model},
    network::{Network, Pair},
    worker::Worker,
};
use crate::settings::DeliverySettings;

const SEEDS: u64 = 200;
const AT_ONCE: usize = 4;
const STEPS: usize = 150;
const WORKERS: usize = 3;
const WEBHOOKS: usize = 3;
const LEASE: Duration = Duration::from_secs(3);
const RETRY: RetryRules =
    RetryRules { first: Duration::from_secs(1), max: Duration::from_secs(20), attempts: 5, jitter: 0.2, budget: 0 };

fn settings() -> DeliverySettings {
    DeliverySettings {
        lease: LeaseTime::new(LEASE).unwrap(),
        concurrency: 4,
        webhook_concurrency: 3,
        retry: RETRY,
        ..DeliverySettings::default()
    }
}

struct Simulation {
    chance: SeededIds,
    database: FreshSqlite,
    store: Arc<SqliteStore>,
    network: Arc<Network>,
    model: Arc<Mutex<Model>>,
    trouble: Arc<Mutex<f64>>,
    workers: Vec<Worker>,
    /// Workers that stand still for so many steps.
    frozen: Vec<usize>,
    started: u64,
    /// Entries that were published.
    published: usize,
    /// Deliveries that follow from them.
    owed: usize,
    /// What may arrive more than once, because a worker died over it, lost its lease, or somebody wanted it again.
    excused: HashSet<Pair>,
    webhooks: HashMap<WebhookId, String>,
}

impl Simulation {
    async fn new(seed: u64) -> Self {
        let database = fresh_sqlite().await;
        database.clock.set("2026-03-01T00:00:00Z".parse().unwrap());
        let store = Arc::new(database.store.clone());
        let mut simulation = Self {
            chance: SeededIds::new(seed),
            store,
            database,
            network: Arc::default(),
            model: Arc::default(),
            trouble: Arc::new(Mutex::new(0.1)),
            workers: Vec::new(),
            frozen: vec![0; WORKERS],
            started: seed << 16,
            published: 0,
            owed: 0,
            excused: HashSet::new(),
            webhooks: HashMap::new(),
        };
        for number in 0..WEBHOOKS {
            let url = format!("https://r{number}.example/");
            let new = NewWebhook {
                event_types: Some(vec![EventType::EntryCreated]),
                include_content: number != 1,
                backlog: true,
                ..NewWebhook::to(url.clone(), WebhookSecret::new(&simulation.chance))
            };
            let webhook = simulation.store.create_webhook(READER, new).await.unwrap();
            simulation.webhooks.insert(webhook.id, url);
        }
        for _ in 0..WORKERS {
            let worker = simulation.start_worker();
            simulation.workers.push(worker);
        }
        simulation
    }

    fn start_worker(&mut self) -> Worker {
        self.started += 1;
        let store = Faulty {
            inner: Arc::<SqliteStore>::clone(&self.store),
            clock: self.database.clock.clone(),
            model: Arc::clone(&self.model),
            chance: SeededIds::new(!self.started),
            trouble: Arc::clone(&self.trouble),
            marks: Arc::default(),
            answers: Arc::default(),
        };
        // No two machines show the same time.
        let skew = SignedDuration::from_millis(i64::from(self.below(20_000)) - 10_000);
        let clock = SimulatedClock::at(self.database.clock.now() + skew);
        Worker::start(store, &self.network, clock, settings(), self.started)
    }

    fn below(&self, limit: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to the limit")]
        let number = (self.chance.fraction() * f64::from(limit)) as u32;
        number
    }

    /// Entries of a new feed, in one transaction with their events.
    async fn publish(&mut self) {
        let count = 1 + self.below(4) as usize;
        let entries = (0..count).map(|place| {
            let guid = format!("{}-{place}", self.published);
            let hash = Hash::of(guid.as_bytes());
            IncomingEntry { guid, identity: hash, fingerprint: hash, ..IncomingEntry::default() }
        });
        let document = Document { entries: entries.collect(), is_complete: true, ..Document::default() };
        let address = FeedAddress { url: format!("https://p.example/{}", self.published), credentials: None };
        let next_check_in = Duration::from_hours(1);
        let feed = NewFeed { address, folder_id: None, custom_title: None, document, next_check_in };
        let webhooks = self.store.webhooks(READER).await.unwrap();
        self.owed += count * webhooks.iter().filter(|webhook| webhook.enabled).count();
        self.store.add_feed(READER, feed).await.unwrap();
        self.published += count;
    }

    fn pass(&self, by: Duration) {
        self.database.clock.advance(by);
        self.workers.iter().for_each(|worker| worker.pass(by));
    }

    async fn step(&mut self) {
        self.pass(Duration::from_millis(u64::from(self.below(400))));
        let one = self.below(u32::try_from(WORKERS).unwrap()) as usize;
        let what = self.below(100);
        match what {
            0..=5 => self.publish().await,
            6..=7 => self.jump(one),
            8..=9 => self.interfere().await,
            10..=39 => self.answer().await,
            40..=42 => self.crash(one),
            _ if self.frozen[one] > 0 => self.frozen[one] -= 1,
            43 => self.frozen[one] = self.below(15) as usize,
            44..=45 => self.workers[one].dispatcher.release_waiting().await,
            46..=60 => drop(self.workers[one].dispatcher.claim().await),
            61..=79 => drop(self.workers[one].begin().await),
            80..=89 => self.workers[one].dispatcher.beat().await,
            _ => self.mark(one, 3).await,
        }
    }

    /// A clock jumps: a worker's, or the store's.
    fn jump(&self, one: usize) {
        let by = SignedDuration::from_millis(i64::from(self.below(60_000)) - 20_000);
        let clock = if self.below(3) == 0 { &self.database.clock } else { &self.workers[one].clock };
        clock.set(clock.now() + by);
    }

    /// Somebody queues a delivery again, or calls it off.
    async fn interfere(&mut self) {
        let page = self.store.deliveries(READER, DeliveryFilter::default(), 20, None).await.unwrap();
        if page.deliveries.is_empty() {
            return;
        }
        let delivery = &page.deliveries[self.below(u32::try_from(page.deliveries.len()).unwrap()) as usize];
        let is_cancelled = self.below(4) == 0;
        let moved = if is_cancelled {
            self.store.cancel_delivery(READER, &delivery.id, "as wanted").await.unwrap()
        } else {
            self.store.requeue_delivery(READER, &delivery.id).await.unwrap()
        };
        if matches!(moved, domain::delivery::Moved::Done(_)) {
            if !is_cancelled {
                self.excused.insert((self.webhooks[&delivery.webhook_id].clone(), delivery.event_id.clone()));
            }
            let id = DeliveryId(number_of("dlv", self.store.installation(), &delivery.id).unwrap());
            self.model.lock().unwrap().interfere(id);
        }
    }

    /// A receiver answers one request.
    async fn answer(&mut self) {
        let waiting = self.network.waiting();
        if waiting == 0 {
            return;
        }
        let which = self.below(u32::try_from(waiting).unwrap()) as usize;
        let (status, retry_after) = match self.below(20) {
            0..=11 => (Ok(200), None),
            12..=14 => (Ok(500), None),
            15 => (Ok(429), Some(self.below(30))),
            16 => (Ok(302), None),
            17 => (Err(HttpError::BrokenOff("receiver".to_owned())), None),
            18 if self.below(10) == 0 => (Ok(410), None),
            _ => (Err(HttpError::TimedOut("receiver".to_owned())), None),
        };
        self.network.answer(which, status, retry_after);
        self.settle().await;
    }

    async fn settle(&mut self) {
        for worker in &mut self.workers {
            worker.settle().await;
        }
    }

    fn crash(&mut self, one: usize) {
        let new = self.start_worker();
        let open = std::mem::replace(&mut self.workers[one], new).crash();
        self.excused.extend(open);
        self.frozen[one] = 0;
    }

    async fn mark(&mut self, one: usize, limit: usize) {
        let model = Arc::clone(&self.model);
        let late = self.workers[one].mark(limit, || model.lock().unwrap().skipped).await;
        self.excused.extend(late);
    }

    /// All is well again, and everything must come to its end.
    async fn come_to_rest(&mut self) {
        *self.trouble.lock().unwrap() = 0.0;
        for _ in 0..200 {
            self.enable_webhooks().await;
            for one in 0..WORKERS {
                drop(self.workers[one].dispatcher.claim().await);
                while self.workers[one].begin().await {}
            }
            while self.network.waiting() > 0 {
                self.network.answer(0, Ok(200), None);
            }
            self.settle().await;
            for one in 0..WORKERS {
                self.mark(one, usize::MAX).await;
            }
            let is_idle = self.workers.iter_mut().all(Worker::is_idle);
            if is_idle && self.store.outbox_overview(Viewer::Server).await.unwrap().pending == 0 {
                return;
            }
            self.pass(Duration::from_secs(2));
        }
        panic!("it does not come to an end: {:?}", self.store.outbox_overview(Viewer::Server).await.unwrap());
    }

    /// Those that a 410 has disabled. One may have been on its way into the store until now.
    async fn enable_webhooks(&self) {
        for webhook in self.store.webhooks(READER).await.unwrap().iter().filter(|webhook| !webhook.enabled) {
            let enabled = WebhookPatch { enabled: Some(true), ..WebhookPatch::default() };
            self.store.update_webhook(READER, webhook.id, enabled).await.unwrap();
        }
    }

    async fn check(&self) {
        let mut seen = 0;
        let mut after: Option<String> = None;
        loop {
            let page = self.store.deliveries(READER, DeliveryFilter::default(), 500, after.as_deref()).await.unwrap();
            for delivery in &page.deliveries {
                seen += 1;
                let pair = (self.webhooks[&delivery.webhook_id].clone(), delivery.event_id.clone());
                let taken = self.network.taken(&pair);
                assert!(delivery.attempts <= RETRY.attempts, "D8: attempts are bounded: {delivery:?}");
                match delivery.delivery_status {
                    DeliveryStatus::Delivered => assert!(taken > 0, "D12: {delivery:?} never arrived"),
                    DeliveryStatus::Failed => {
                        let is_gone = delivery.last_status_code == Some(410);
                        assert!(is_gone || delivery.attempts == RETRY.attempts, "D8: given up early: {delivery:?}");
                    }
                    DeliveryStatus::Cancelled => {}
                    DeliveryStatus::Pending => panic!("D12: {delivery:?} is left"),
                }
                assert!(taken <= 1 || self.excused.contains(&pair), "D12: {delivery:?} arrived {taken} times");
            }
            let Some(next) = page.next_cursor else { break };
            after = Some(next);
        }
        assert_eq!(seen, self.owed, "D12: no committed event is lost, and none is made twice");
    }
}

fn run_seed(seed: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut simulation = Simulation::new(seed).await;
        simulation.publish().await;
        for _ in 0..STEPS {
            simulation.step().await;
            simulation.workers.iter().for_each(|worker| worker.dispatcher.in_flight().check());
        }
        simulation.come_to_rest().await;
        simulation.check().await;
    });
}

#[test]
fn d4_d6_d8_d12_simulation_loses_nothing() {
    // Side by side, because a run mostly waits for the thread of its store.
    std::thread::scope(|scope| {
        for first in (0..SEEDS).take(AT_ONCE) {
            scope.spawn(move || {
                for seed in (first..SEEDS).step_by(AT_ONCE) {
                    let outcome = std::panic::catch_unwind(|| run_seed(seed));
                    assert!(outcome.is_ok(), "the simulation fails with seed {seed}");
                }
            });
        }
    });
}
