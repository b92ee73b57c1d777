//! Claiming what is due, within the limits of the moment, and releasing it.

use std::time::Duration;

use domain::{delivery::DeliveryJob, ports::StoreResult};
use jiff::Timestamp;

use super::{
    Dispatcher,
    in_flight::{ClaimKey, TakenIn},
};
use crate::measure;

/// What a claim brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClaimSummary {
    pub(crate) count: usize,
    /// There may be more, and capacity for it.
    pub(crate) may_have_more: bool,
}

impl Dispatcher {
    /// Claims once. What there was is held, and waits for its turn.
    pub(crate) async fn claim(&self) -> StoreResult<ClaimSummary> {
        let mut limits = self.in_flight().claim_limits();
        if let Some(only) = self.only {
            limits = limits.only_to(only);
        }
        // A node that stood still would find the rows that it is sending free.
        let may_have_expired = self.in_flight().may_have_expired(self.lease_clock.now());
        if may_have_expired {
            self.beat().await;
        }
        let lease = self.settings.lease.length();
        // The lease begins when it is asked for at the latest: it never ends later than we think.
        let (asked_at, until) = (self.lease_clock.now(), self.after(lease));
        self.in_flight().is_claiming = true;
        let claimed =
            measure::store("claim_deliveries", self.store.claim_deliveries(&self.owner, lease, &limits)).await;
        let (taken, (sending, waiting)) = {
            let mut in_flight = self.in_flight();
            in_flight.is_claiming = false;
            (in_flight.take_in(&limits, claimed?, asked_at, until), in_flight.counts())
        };
        let TakenIn { count, may_have_more, stopped } = taken;
        self.log_stopped(&stopped);
        measure::deliveries_held(sending, waiting);
        Ok(ClaimSummary { count, may_have_more })
    }

    /// When there will be something to claim, as far as there is capacity for it.
    pub(crate) async fn next_in(&self) -> StoreResult<Option<Duration>> {
        let full = self.in_flight().full();
        self.store.next_delivery_in(&full).await
    }

    /// Releases all that waits, at once. No attempt is counted.
    pub(crate) async fn release_waiting(&self) {
        let waiting = self.in_flight().clear();
        self.release_or_warn(&keys_of(&waiting)).await;
    }

    /// Releases all that is held, whatever becomes of it: it is time to go.
    pub(crate) async fn release_all(&self) -> StoreResult<usize> {
        let claims = self.in_flight().claims();
        self.release(&claims).await?;
        Ok(claims.len())
    }

    async fn release(&self, claims: &[ClaimKey]) -> StoreResult<()> {
        if claims.is_empty() {
            return Ok(());
        }
        let (leases, stopped) = self.in_flight().release(claims, &self.owner);
        self.log_stopped(&stopped);
        self.store.release_deliveries(&leases).await
    }

    /// Releases what was never sent. If that fails nothing can be done: the leases run out.
    pub(super) async fn release_or_warn(&self, claims: &[ClaimKey]) {
        if let Err(error) = self.release(claims).await {
            tracing::warn!(deliveries = claims.len(), %error, "claims not released");
        }
    }

    /// Our own time, so much later.
    pub(super) fn after(&self, delay: Duration) -> Timestamp {
        self.lease_clock.now().saturating_add(delay).unwrap_or(Timestamp::MAX)
    }
}

pub(super) fn keys_of(jobs: &[DeliveryJob]) -> Vec<ClaimKey> {
    jobs.iter().map(ClaimKey::from).collect()
}
