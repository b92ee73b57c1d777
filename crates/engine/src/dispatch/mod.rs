//! Deliveries on their way to webhooks, as small pieces that a [runner] puts together and tests can step:
//!
//! ```text
//! claim ─> in_flight (waits) ─> send ─> marks, in batches (delivered | retry at | failed)
//!   └─────────────── beat: one renewal for all that is held ───────────────┘
//! ```
//!
//! What is claimed is held from the claim on until its mark is stored. A node that dies leaves nothing behind but leases
//! that run out; one that is told to stop releases what it has not begun.

mod beat;
mod claim;
mod in_flight;
mod lease_clock;
mod marks;
mod over_http;
mod payload_memory;
mod runner;
mod send;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::{
    WebhookId,
    delivery::AttemptOutcome,
    ports::{Clock, DeliveryStore, Http, Ids},
};
use tokio::sync::{Notify, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{in_flight::InFlight, lease_clock::LeaseClock, over_http::OverHttp, payload_memory::PayloadMemory};
use crate::{context::Context, settings::DeliverySettings};

pub(crate) use self::runner::run;

/// The deliveries of this node.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    store: Arc<dyn DeliveryStore>,
    over_http: OverHttp,
    clock: Arc<dyn Clock>,
    /// For all that is in flight: leases, and when webhooks were looked at.
    lease_clock: LeaseClock,
    ids: Arc<dyn Ids>,
    settings: DeliverySettings,
    /// Deliveries to this webhook only.
    only: Option<WebhookId>,
    /// Unique to the life of this process.
    owner: String,
    /// All that is held. Never locked across a request or a call of the store.
    in_flight: Mutex<InFlight>,
    /// There may be capacity for more.
    freed: Notify,
    payload_memory: PayloadMemory,
    tasks: TaskTracker,
    /// Everything ends, whatever it is at.
    closing: CancellationToken,
    /// How attempts ended, on their way to the store.
    outcomes: mpsc::UnboundedSender<AttemptOutcome>,
    /// The other end, until [`marks`] takes it.
    outcomes_rx: Mutex<Option<mpsc::UnboundedReceiver<AttemptOutcome>>>,
}

impl Dispatcher {
    /// For all webhooks, or for one alone.
    pub(crate) fn new(context: &Context, only: Option<WebhookId>) -> Arc<Self> {
        let deps = &context.deps;
        let store: Arc<dyn DeliveryStore> = Arc::<dyn domain::ports::Store>::clone(&deps.store);
        let (http, clock, ids) = (Arc::clone(&deps.http), Arc::clone(&deps.clock), Arc::clone(&deps.ids));
        let settings = DeliverySettings { tracer: deps.settings.tracer.clone(), ..deps.settings.delivery.clone() };
        Self::with(store, http, clock, ids, settings, only)
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
        let (outcomes, outcomes_rx) = mpsc::unbounded_channel();
        Arc::new(Self {
            owner: ids.owner(),
            in_flight: Mutex::new(InFlight::new(settings.concurrency, settings.webhook_concurrency, settings.breaker)),
            freed: Notify::new(),
            payload_memory: PayloadMemory::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            outcomes,
            outcomes_rx: Mutex::new(Some(outcomes_rx)),
            store,
            over_http: OverHttp::new(http, Arc::clone(&clock), settings.timeout),
            lease_clock: LeaseClock::new(Arc::clone(&clock)),
            clock,
            ids,
            settings,
            only,
        })
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
