//! The beat: all that is held is renewed in one call, so that a thousand deliveries cost one statement.
//!
//! It goes on beside everything else and holds up nothing. A row that turns out not to be ours is left alone; whatever
//! is being sent goes on, and its mark is guarded as well.

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc};

use domain::ports::StoreError;
use futures_util::FutureExt;

use super::{
    Dispatcher,
    in_flight::{StopReason, Stopped},
};
use crate::measure;

impl Dispatcher {
    pub(crate) async fn beat(&self) {
        let leases = self.in_flight().leases();
        if leases.is_empty() {
            return;
        }
        let length = self.settings.lease.length();
        let (asked_at, until) = (self.lease_clock.now(), self.after(length));
        // A beat that hangs has failed: it must not keep the next from being tried.
        let renewed = measure::store("renew_deliveries", self.store.renew_deliveries(&leases, length));
        let renewed = tokio::time::timeout(self.settings.lease.beat_every(), renewed).await;
        match renewed.unwrap_or_else(|_| Err(StoreError::Unavailable("no answer in time".to_owned()))) {
            Ok(not_ours) => {
                measure::beat("renewed");
                let not_ours: HashSet<_> = not_ours.into_iter().collect();
                let (lost, kept): (Vec<_>, Vec<_>) = leases.into_iter().partition(|(id, _)| not_ours.contains(id));
                let stopped = {
                    let mut in_flight = self.in_flight();
                    in_flight.prolong(&kept, until);
                    in_flight.refused(&lost)
                };
                self.log_stopped(&stopped);
            }
            Err(error) => {
                measure::beat("failed");
                let events = self.in_flight().events();
                tracing::warn!(worker_id = %self.owner, ?events, %error, "lease renewal failed");
                // Not those that ran out while it was waited for an answer: if it was this node that stood still, the
                // next beat finds out whose they are.
                let stopped = self.in_flight().expire(asked_at);
                self.log_stopped(&stopped);
            }
        }
    }

    /// Logs why leases are renewed no longer: never what is in them, never a secret.
    pub(super) fn log_stopped(&self, stopped: &[Stopped]) {
        for Stopped { event_id, reason } in stopped {
            let (worker_id, stop_reason) = (&self.owner, reason.name());
            let error = match reason {
                StopReason::Completed => {
                    tracing::debug!(%worker_id, %event_id, stop_reason, "lease renewal stopped");
                    continue;
                }
                StopReason::LeaseLost => "the row is not this worker's any more",
                StopReason::RenewalFailed => "no beat worked before the lease ended",
                StopReason::Unmarkable => "its mark cannot be stored",
            };
            measure::lease_lost();
            tracing::warn!(%worker_id, %event_id, stop_reason, error, "lease renewal stopped");
        }
    }
}

/// Beats to the end.
pub(super) async fn run(dispatcher: Arc<Dispatcher>) {
    let mut ticks = tokio::time::interval(dispatcher.settings.lease.beat_every());
    // After a pause of the machine one beat is enough.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = dispatcher.closing.cancelled() => return,
            _ = ticks.tick() => {}
        }
        // A beat that panicked must not be the last: all leases would be lost.
        if AssertUnwindSafe(dispatcher.beat()).catch_unwind().await.is_err() {
            tracing::error!("lease renewal panicked");
        }
    }
}
