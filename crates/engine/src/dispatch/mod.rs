//! Deliveries on their way to webhooks, as small pieces that a [runner] puts together and tests can step:
//!
//! ```text
//! claim ─> desk (waits) ─> send ─> gather ─> mark (delivered | retry at | failed)
//!   └──────────── beat: one renewal for all that is held ────────────┘
//! ```
//!
//! What is claimed is held from the claim on until its mark is stored. A node that dies leaves nothing behind but leases
//! that run out; one that is told to stop gives back what it has not begun.

mod beat;
mod claim;
mod in_flight;
mod marks;
mod payload_memory;
mod runner;
mod send;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool};

use domain::{
    WebhookId,
    delivery::AttemptOutcome,
    ports::{Clock, DeliveryStore, Http, Ids},
};
use tokio::sync::{Notify, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    in_flight::{delivery::Held, queues::Queues},
    payload_memory::PayloadMemory,
};
use crate::{context::Context, settings::DeliverySettings};

pub(crate) use self::runner::run;

/// The deliveries of this node.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    store: Arc<dyn DeliveryStore>,
    http: Arc<dyn Http>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    settings: DeliverySettings,
    /// Deliveries to this webhook only.
    only: Option<WebhookId>,
    /// Unique to the life of this process.
    owner: String,
    held: Held,
    queues: Mutex<Queues>,
    /// A claim is on its way, and may bring a row again whose lease ran out here.
    is_claiming: AtomicBool,
    /// There may be room for more.
    freed: Notify,
    payload_memory: PayloadMemory,
    /// Those who send.
    tasks: TaskTracker,
    /// Everything ends, whatever it is at.
    closing: CancellationToken,
    /// How attempts ended, on their way to the gatherer.
    ended: mpsc::UnboundedSender<AttemptOutcome>,
    /// The other end, until the gatherer takes it.
    outcomes_rx: Mutex<Option<mpsc::UnboundedReceiver<AttemptOutcome>>>,
}

impl Dispatcher {
    /// For all webhooks, or for one alone.
    pub(crate) fn new(context: &Context, only: Option<WebhookId>) -> Arc<Self> {
        let deps = &context.deps;
        let store: Arc<dyn DeliveryStore> = Arc::<dyn domain::ports::Store>::clone(&deps.store);
        let (http, clock, ids) = (Arc::clone(&deps.http), Arc::clone(&deps.clock), Arc::clone(&deps.ids));
        Self::with(store, http, clock, ids, deps.settings.delivery.clone(), only)
    }

    fn with(
        store: Arc<dyn DeliveryStore>,
        http: Arc<dyn Http>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        settings: DeliverySettings,
        only: Option<WebhookId>,
    ) -> Arc<Self> {
        // As long as what is held, and no longer: only what is held can end.
        let (ended, outcomes_rx) = mpsc::unbounded_channel();
        Arc::new(Self {
            owner: ids.owner(),
            held: Held::default(),
            queues: Mutex::new(Queues::new(settings.concurrency, settings.webhook_concurrency, settings.breaker)),
            is_claiming: AtomicBool::new(false),
            freed: Notify::new(),
            payload_memory: PayloadMemory::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            ended,
            outcomes_rx: Mutex::new(Some(outcomes_rx)),
            store,
            http,
            clock,
            ids,
            settings,
            only,
        })
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
