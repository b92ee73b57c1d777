//! Claiming what is due, as there is room, and giving it back.

use std::{sync::atomic::Ordering, time::Duration};

use domain::{DeliveryId, Lease, delivery::DeliveryJob, ports::StoreResult};
use jiff::Timestamp;

use super::{Dispatcher, in_flight::delivery::StopReason};
use crate::measure;

/// What a claim brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClaimSummary {
    /// So many deliveries.
    pub(crate) count: usize,
    /// There may be more, and room for it.
    pub(crate) may_have_more: bool,
}

impl Dispatcher {
    /// Claims once. What there was is held, and waits for its turn.
    pub(crate) async fn claim(&self) -> StoreResult<ClaimSummary> {
        let mut limits = self.queues().claim_limits();
        if let Some(only) = self.only {
            limits = limits.only_to(only);
        }
        // A node that stood still would find the rows that it is sending free.
        if self.held.may_have_run_out(self.clock.now()) {
            self.beat().await;
        }
        let lease = self.settings.lease.length();
        // The lease begins when it is asked for at the latest: it never ends later than we think.
        let (asked_at, until) = (self.clock.now(), self.after(lease));
        self.is_claiming.store(true, Ordering::SeqCst);
        let claimed =
            measure::store("claim_deliveries", self.store.claim_deliveries(&self.owner, lease, &limits)).await;
        let taken = claimed.map(|mut claimed| (self.held.hold(std::mem::take(&mut claimed.jobs), until), claimed));
        self.is_claiming.store(false, Ordering::SeqCst);
        let (taken, mut claimed) = taken?;
        for delivery in taken.lost {
            self.say_stopped(&delivery, StopReason::LeaseLost);
        }
        let count = taken.jobs.len();
        claimed.jobs = taken.jobs;
        let mut queues = self.queues();
        queues.take_in(&limits, claimed, asked_at);
        let (sending, waiting) = queues.counts();
        measure::deliveries_held(sending, waiting);
        Ok(ClaimSummary { count, may_have_more: queues.may_have_more() })
    }

    /// When there will be something to claim, as far as there is room for it.
    pub(crate) async fn next_in(&self) -> StoreResult<Option<Duration>> {
        let full = self.queues().full();
        self.store.next_delivery_in(&full).await
    }

    /// Gives back all that waits, at once. No attempt is counted.
    pub(crate) async fn release_waiting(&self) {
        let waiting = self.queues().clear();
        self.give_back(claims_of(waiting)).await;
    }

    /// Gives back all that is held, whatever becomes of it: it is time to go.
    pub(crate) async fn release_all(&self) -> StoreResult<usize> {
        let claims = self.held.claims();
        self.release(&claims).await?;
        Ok(claims.len())
    }

    /// Gives back what was never sent.
    pub(crate) async fn release(&self, claims: &[(DeliveryId, Lease)]) -> StoreResult<()> {
        if claims.is_empty() {
            return Ok(());
        }
        let leases: Vec<_> = claims.iter().map(|(id, claim)| (*id, self.held.lease_of(*id, claim))).collect();
        for (id, claim) in claims {
            self.stop(*id, claim.fence, StopReason::Completed);
        }
        self.store.release_deliveries(&leases).await
    }

    /// The same, where nothing can be done if it fails.
    pub(super) async fn give_back(&self, claims: Vec<(DeliveryId, Lease)>) {
        if let Err(error) = self.release(&claims).await {
            tracing::warn!(deliveries = claims.len(), %error, "deliveries were not given back: their leases will run out");
        }
    }

    /// A claim is held no longer.
    pub(super) fn stop(&self, id: DeliveryId, claim: i64, reason: StopReason) {
        if let Some(delivery) = self.held.forget(id, claim) {
            self.say_stopped(&delivery, reason);
        }
    }

    /// Our own time, so much later.
    pub(super) fn after(&self, delay: Duration) -> Timestamp {
        self.clock.now().saturating_add(delay).unwrap_or(Timestamp::MAX)
    }
}

/// The claims of what is to be given back.
pub(super) fn claims_of(jobs: Vec<DeliveryJob>) -> Vec<(DeliveryId, Lease)> {
    jobs.into_iter().map(|job| (job.id, job.lease)).collect()
}
