//! Storing how polls ended: results that arrive together are stored together.
//!
//! Nobody waits for a batch to fill up: the first result starts one, and what arrives while it is being stored is the
//! next. While the store is away results are kept, for as long as their leases last.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{
    ingest::{PollOutcome, PollResult, Stored},
    ports::{StoreError, StoreResult},
};
use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::Poller;
use crate::measure;

/// Results in one batch.
const BATCH_RESULTS_MAX: usize = 64;

/// Entries in one batch: a single result may have more, and is stored alone then.
const BATCH_ENTRIES_MAX: usize = 4000;

/// The pause before results are offered again to a store that was away.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// What a feed's last error says when the fault is ours.
const UNSTORABLE: &str = "what it brought could not be stored; the log says why";

/// Results on their way into the store.
#[derive(Debug, Default)]
pub(crate) struct Finisher {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    is_running: bool,
}

#[derive(Debug)]
struct Waiting {
    result: PollResult,
    answer: oneshot::Sender<Option<Stored>>,
}

/// Stores a result; `None` if that was not possible in time.
pub(crate) async fn finish(poller: &Arc<Poller>, result: PollResult) -> Option<Stored> {
    let (answer, stored) = oneshot::channel();
    let must_start = {
        let mut state = poller.finisher.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.push(Waiting { result, answer });
        !std::mem::replace(&mut state.is_running, true)
    };
    if must_start {
        poller.tasks.spawn(run(Arc::clone(poller)));
    }
    stored.await.ok().flatten()
}

/// Stores batches until nothing waits.
async fn run(poller: Arc<Poller>) {
    let batch_wait = poller.context.deps.settings.batch_wait;
    if !batch_wait.is_zero() {
        tokio::time::sleep(batch_wait).await;
    }
    while let Some(batch) = next_batch(&poller.finisher) {
        // Whoever waits for a batch that panicked is told that nothing was stored.
        let _ = std::panic::AssertUnwindSafe(store(&poller, batch)).catch_unwind().await;
    }
}

fn next_batch(finisher: &Finisher) -> Option<Vec<Waiting>> {
    let mut state = finisher.state.lock().unwrap_or_else(PoisonError::into_inner);
    if state.waiting.is_empty() {
        state.is_running = false;
        return None;
    }
    let mut entries = 0;
    let fits = |waiting: &Waiting| {
        entries += entry_count(&waiting.result);
        entries <= BATCH_ENTRIES_MAX
    };
    let count = state.waiting.iter().take(BATCH_RESULTS_MAX).map(fits).take_while(|fits| *fits).count().max(1);
    Some(state.waiting.drain(..count).collect())
}

fn entry_count(result: &PollResult) -> usize {
    match &result.outcome {
        PollOutcome::Fetched(document) => document.entries.len(),
        PollOutcome::Unchanged(_) | PollOutcome::Failed(_) | PollOutcome::Gone(_) => 0,
    }
}

/// Stores a batch, again and again while the store is away and the leases last.
async fn store(poller: &Poller, mut batch: Vec<Waiting>) {
    let tries = poller.context.deps.settings.poll_lease.length().as_millis() / RETRY_PAUSE.as_millis() + 1;
    for _ in 0..tries {
        let results = batch.iter().map(|waiting| waiting.result.clone()).collect();
        match measure::store("finish_polls", poller.context.deps.store.finish_polls(results)).await {
            Ok(outcomes) => batch = settle(batch, outcomes),
            Err(StoreError::Failed(error)) => return give_up(&batch, &error),
            Err(StoreError::Unavailable(error)) => {
                tracing::warn!(%error, results = batch.len(), "poll results waiting for store");
            }
        }
        if batch.is_empty() {
            return;
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
    give_up(&batch, "the store was away for longer than the lease");
}

/// Answers those whose results are stored; returns the others.
fn settle(batch: Vec<Waiting>, outcomes: Vec<StoreResult<Stored>>) -> Vec<Waiting> {
    let mut again = Vec::new();
    for (mut waiting, outcome) in batch.into_iter().zip(outcomes) {
        match outcome {
            // Nobody listening any more is no harm: it is stored.
            Ok(stored) => drop(waiting.answer.send(Some(stored))),
            Err(StoreError::Unavailable(_)) => again.push(waiting),
            Err(StoreError::Failed(error)) => {
                tracing::error!(feed_id = waiting.result.feed_id.0, %error, "poll result not stored");
                // The feed has to be deferred all the same, or it would be claimed again at once, and for ever.
                if !matches!(waiting.result.outcome, PollOutcome::Failed(_)) {
                    waiting.result.outcome = PollOutcome::Failed(UNSTORABLE.to_owned());
                    again.push(waiting);
                }
            }
        }
    }
    again
}

fn give_up(batch: &[Waiting], error: &str) {
    for waiting in batch {
        tracing::error!(feed_id = waiting.result.feed_id.0, error, "poll result lost");
    }
}
