//! A worker of a simulation: the real dispatcher, whose pieces are stepped one by one.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use domain::{DeliveryId, delivery::AttemptOutcome};
use testkit::{SeededIds, SimulatedClock};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    super::{Dispatcher, marks, send},
    faulty::Faulty,
    network::{Line, Network, Pair},
};
use crate::settings::DeliverySettings;

/// A send that is under way.
struct Sending {
    pair: Pair,
    task: JoinHandle<()>,
}

pub(super) struct Worker {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) clock: SimulatedClock,
    network: Arc<Network>,
    number: u64,
    ended: mpsc::UnboundedReceiver<AttemptOutcome>,
    sending: Vec<Sending>,
    /// Marks that are not stored yet.
    unmarked: Vec<AttemptOutcome>,
    /// What was sent by it, to know what a crash may send again.
    pairs: HashMap<DeliveryId, Pair>,
}

impl Worker {
    pub(super) fn start(
        store: Faulty,
        network: &Arc<Network>,
        clock: SimulatedClock,
        settings: DeliverySettings,
        number: u64,
    ) -> Self {
        let http = Arc::new(Line { network: Arc::clone(network), worker: number });
        let ids = Arc::new(SeededIds::new(number));
        let dispatcher = Dispatcher::with(Arc::new(store), http, Arc::new(clock.clone()), ids, settings, None);
        let ended = dispatcher.outcomes_rx.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap();
        let network = Arc::clone(network);
        let (sending, unmarked, pairs) = (Vec::new(), Vec::new(), HashMap::new());
        Self { dispatcher, clock, network, number, ended, sending, unmarked, pairs }
    }

    /// Begins to send the next that waits; false if nothing may be sent.
    pub(super) async fn begin(&mut self) -> bool {
        let Some(ready) = self.dispatcher.in_flight().next() else { return false };
        let pair = (ready.webhook.url.clone(), ready.job.event_id.clone());
        self.pairs.insert(ready.job.id, pair.clone());
        let (dispatcher, sent) = (Arc::clone(&self.dispatcher), self.network.sent_in_all());
        let task = tokio::spawn(async move { send::deliver(&dispatcher, ready).await });
        // Until it is on its way, or was not sent at all.
        while self.network.sent_in_all() == sent && !task.is_finished() {
            tokio::task::yield_now().await;
        }
        self.sending.push(Sending { pair, task });
        true
    }

    /// Waits until those that were answered have noticed.
    pub(super) async fn settle(&mut self) {
        let under_way = self.network.waiting_of(self.number);
        while self.sending.iter().filter(|sending| !sending.task.is_finished()).count() > under_way {
            tokio::task::yield_now().await;
        }
        self.sending.retain(|sending| !sending.task.is_finished());
    }

    /// Marks that are not stored yet.
    pub(super) fn unmarked(&mut self) -> Vec<AttemptOutcome> {
        while let Ok(outcome) = self.ended.try_recv() {
            self.unmarked.push(outcome);
        }
        self.unmarked.drain(..).collect()
    }

    /// Stores up to so many marks; what fails is kept for later. Returns the pairs whose marks came too late.
    pub(super) async fn mark(&mut self, limit: usize, skipped_so_far: impl Fn() -> usize) -> Vec<Pair> {
        while let Ok(outcome) = self.ended.try_recv() {
            self.unmarked.push(outcome);
        }
        let mut late = Vec::new();
        for outcome in self.unmarked.drain(..limit.min(self.unmarked.len())).collect::<Vec<_>>() {
            let before = skipped_so_far();
            let is_stored =
                self.dispatcher.mark(std::slice::from_ref(&outcome), true).await.is_ok_and(|later| later.is_empty());
            if skipped_so_far() > before {
                late.extend(self.pairs.get(&outcome.id).cloned());
            }
            if !is_stored {
                self.unmarked.push(outcome);
            }
        }
        late
    }

    /// From now on its marks are stored by themselves, in batches.
    pub(super) fn marks(self) -> Arc<Dispatcher> {
        *self.dispatcher.outcomes_rx.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.ended);
        tokio::spawn(marks::run(Arc::clone(&self.dispatcher)));
        self.dispatcher
    }

    /// It dies. Returns what it had sent and not marked.
    pub(super) fn crash(mut self) -> Vec<Pair> {
        while let Ok(outcome) = self.ended.try_recv() {
            self.unmarked.push(outcome);
        }
        let mut open: Vec<Pair> = self.sending.iter().map(|sending| sending.pair.clone()).collect();
        open.extend(self.unmarked.iter().filter_map(|outcome| self.pairs.get(&outcome.id).cloned()));
        self.sending.iter().for_each(|sending| sending.task.abort());
        open
    }

    /// Whether it has nothing to do.
    pub(super) fn is_idle(&mut self) -> bool {
        self.sending.is_empty() && self.unmarked.is_empty() && self.ended.is_empty()
    }

    /// Its clock moves on, and now and then jumps.
    pub(super) fn pass(&self, by: Duration) {
        self.clock.advance(by);
    }
}
