//! Marks: how attempts ended, stored in batches together with their log, one commit for many.

use std::{
    collections::HashSet,
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError},
    time::Duration,
};

use domain::{
    Lease,
    delivery::{AttemptOutcome, Verdict},
    ports::{StoreError, StoreResult},
};
use futures_util::FutureExt;

use super::{Dispatcher, in_flight::StopReason};
use crate::measure;

/// Marks in one call.
const BATCH_MAX: usize = 500;

/// How long it is waited before marks are stored once more that could not be.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// The same for marks whose rows somebody else has locked.
const LATER: Duration = Duration::from_secs(1);

impl Dispatcher {
    /// Stores marks. Returns those that are to be stored in a while, because somebody else has their rows locked, or this
    /// node has claimed them again meanwhile. Whether it has is not known while a claim is on its way; that is waited for
    /// once. On an error nothing is stored, and all may be stored again.
    pub(crate) async fn mark(&self, batch: &[AttemptOutcome], is_again: bool) -> StoreResult<Vec<AttemptOutcome>> {
        let by_lease = self.with_leases(batch);
        let fences: Vec<i64> = by_lease.iter().map(|outcome| outcome.lease.fence).collect();
        let finishing = self.store.finish_deliveries(by_lease, &self.settings.breaker);
        let marks = measure::store("mark_deliveries", finishing).await?;
        let skipped: HashSet<_> = marks.skipped.into_iter().collect();
        let locked: HashSet<_> = marks.locked.into_iter().collect();
        let (later, marked, end) = {
            let mut in_flight = self.in_flight();
            let may_come = !is_again && in_flight.is_claiming;
            let (mut later, mut marked) = (Vec::new(), Vec::new());
            for (outcome, fence) in batch.iter().zip(fences) {
                // Skipped, but claimed again by this node meanwhile: it counts by the new lease.
                let has_new_lease = || in_flight.lease_of(outcome.into()).is_some_and(|lease| lease.fence != fence);
                let is_for_later =
                    locked.contains(&outcome.id) || skipped.contains(&outcome.id) && (may_come || has_new_lease());
                if is_for_later { later.push(outcome) } else { marked.push(outcome) }
            }
            let reason = |outcome: &AttemptOutcome| {
                if skipped.contains(&outcome.id) { StopReason::LeaseLost } else { StopReason::Completed }
            };
            let end = in_flight.marked(marked.iter().map(|outcome| (*outcome, reason(outcome))));
            (later, marked, end)
        };
        self.log_stopped(&end.stopped);
        let has_retries = marked.iter().any(|outcome| matches!(outcome.verdict, Verdict::Retry(_)));
        if has_retries || end.frees_capacity {
            // Something may be due sooner than what is waited for, or be had now.
            self.freed.notify_one();
        }
        let late = marked.iter().filter(|outcome| skipped.contains(&outcome.id)).count();
        measure::marked(marked.len() - late, late);
        for (webhook, reason) in marks.disabled {
            tracing::warn!(webhook_id = webhook.0, %reason, "webhook disabled");
        }
        Ok(later.into_iter().cloned().collect())
    }

    /// The same with the leases that they have now.
    fn with_leases(&self, batch: &[AttemptOutcome]) -> Vec<AttemptOutcome> {
        let leases: Vec<Lease> = {
            let in_flight = self.in_flight();
            batch.iter().map(|outcome| in_flight.lease_of(outcome.into()).unwrap_or(&outcome.lease).clone()).collect()
        };
        batch.iter().zip(leases).map(|(outcome, lease)| AttemptOutcome { lease, ..outcome.clone() }).collect()
    }

    /// Stores marks, however long that takes: an attempt that was made is not made again because the store was away for
    /// a moment. Returns those that are to be stored in a while: they must not hold up others.
    async fn mark_until_stored(&self, batch: &[AttemptOutcome], is_again: bool) -> Vec<AttemptOutcome> {
        let mut was_away = false;
        loop {
            match self.mark_or_fail(batch, is_again).await {
                Ok(later) => return later,
                Err(StoreError::Failed(error)) if batch.len() > 1 => {
                    tracing::error!(%error, "batch of marks not stored");
                    return self.mark_each(batch, is_again).await;
                }
                Err(StoreError::Failed(error)) => {
                    let deliveries: Vec<_> = batch.iter().map(|outcome| outcome.id.0).collect();
                    tracing::error!(?deliveries, %error, "mark not stored");
                    self.abandon(batch);
                    return Vec::new();
                }
                Err(error) => {
                    if !std::mem::replace(&mut was_away, true) {
                        tracing::warn!(marks = batch.len(), %error, "marks waiting for store");
                    }
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
            }
        }
    }

    /// A panic must not be the last that is heard of marks: all that is sent would be held for ever.
    async fn mark_or_fail(&self, batch: &[AttemptOutcome], is_again: bool) -> StoreResult<Vec<AttemptOutcome>> {
        let marking = AssertUnwindSafe(self.mark(batch, is_again)).catch_unwind();
        marking.await.unwrap_or_else(|_| Err(StoreError::Failed("a panic".to_owned())))
    }

    /// One mark that cannot be stored costs no other.
    async fn mark_each(&self, batch: &[AttemptOutcome], is_again: bool) -> Vec<AttemptOutcome> {
        let mut later = Vec::new();
        for outcome in batch.chunks(1) {
            later.extend(Box::pin(self.mark_until_stored(outcome, is_again)).await);
        }
        later
    }

    /// These marks will never be stored: their deliveries are made again when their leases have run out.
    fn abandon(&self, batch: &[AttemptOutcome]) {
        let end = self.in_flight().marked(batch.iter().map(|outcome| (outcome, StopReason::Unmarkable)));
        self.log_stopped(&end.stopped);
        self.freed.notify_one();
    }

    /// Stores these marks after a while, by themselves: whatever they have to wait for, others do not. Until then their
    /// webhooks are sent nothing more.
    fn mark_later(self: &Arc<Self>, mut later: Vec<AttemptOutcome>) {
        if later.is_empty() {
            return;
        }
        self.in_flight().defer(&later);
        let (dispatcher, closing) = (Arc::clone(self), self.closing.clone());
        let again = async move {
            while !later.is_empty() {
                tokio::time::sleep(LATER).await;
                later = dispatcher.mark_until_stored(&later, true).await;
            }
        };
        self.tasks.spawn(closing.run_until_cancelled_owned(again));
    }
}

/// Stores marks in batches to the end, and those that have come until then.
pub(super) async fn run(dispatcher: Arc<Dispatcher>) {
    let taken = dispatcher.outcomes_rx.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut outcomes) = taken else { return };
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            biased;
            _ = outcomes.recv_many(&mut batch, BATCH_MAX) => {}
            () = dispatcher.closing.cancelled() => return,
        }
        if batch.len() < BATCH_MAX && !dispatcher.closing.is_cancelled() {
            tokio::time::sleep(dispatcher.settings.batch_wait).await;
        }
        while batch.len() < BATCH_MAX {
            let Ok(outcome) = outcomes.try_recv() else { break };
            batch.push(outcome);
        }
        let later = dispatcher.mark_until_stored(&batch, false).await;
        dispatcher.mark_later(later);
        batch.clear();
    }
}
