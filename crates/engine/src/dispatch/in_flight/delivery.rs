//! The deliveries that this node holds, and whether they are still its own.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use domain::{DeliveryId, Lease, delivery::DeliveryJob};
use jiff::Timestamp;

/// Why a lease is renewed no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The delivery was marked, or given back.
    Completed,
    /// The row is not ours any more.
    LeaseLost,
    /// The lease ended with no beat that worked.
    RenewalFailed,
    /// Its mark cannot be stored: the lease is left to its end.
    Unmarkable,
}

impl StopReason {
    /// As the log has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::LeaseLost => "lease_lost",
            Self::RenewalFailed | Self::Unmarkable => "renewal_failed",
        }
    }
}

/// A delivery that is held.
#[derive(Debug, Clone)]
pub(crate) struct HeldDelivery {
    /// The lease that it has now.
    lease: Lease,
    /// The fence of the claim that brought it, by which the desk and whoever sends it know it.
    claim: i64,
    /// Attempts that were made before it was claimed.
    attempts: u32,
    pub(crate) event_id: String,
    /// Until when the lease lasts, by our own clock, counted from when it was asked for.
    until: Timestamp,
    /// Why it is renewed no longer, if so.
    stopped: Option<StopReason>,
    /// Its mark is on its way into the store, and the lease ends with that.
    is_ending: bool,
}

impl HeldDelivery {
    fn is_renewed(&self) -> bool {
        self.stopped.is_none()
    }

    /// Whether this node has claimed it once more, and nothing has happened to it in between.
    fn is_claimed_again_by(&self, job: &DeliveryJob) -> bool {
        job.lease.fence == self.lease.fence + 1 && job.attempts == self.attempts
    }
}

/// What became of what was claimed.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    /// To be sent.
    pub(crate) jobs: Vec<DeliveryJob>,
    /// Earlier claims of the same rows that were renewed until now: somebody else has had them, so they are lost.
    pub(crate) lost: Vec<HeldDelivery>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Held {
    deliveries: Mutex<HashMap<DeliveryId, HeldDelivery>>,
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, HashMap<DeliveryId, HeldDelivery>> {
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds what was claimed, from the claim on. What this node is sending already, because it stood still and its lease
    /// ran out, is not to be sent once more: it has another lease, that is all.
    pub(crate) fn hold(&self, jobs: Vec<DeliveryJob>, until: Timestamp) -> Admitted {
        let mut held = self.lock();
        let mut taken = Admitted::default();
        for job in jobs {
            if let Some(delivery) = held.get_mut(&job.id).filter(|delivery| delivery.is_claimed_again_by(&job)) {
                (delivery.lease, delivery.until, delivery.stopped) = (job.lease, until, None);
                continue;
            }
            let delivery = HeldDelivery {
                lease: job.lease.clone(),
                claim: job.lease.fence,
                attempts: job.attempts,
                event_id: job.event_id.clone(),
                until,
                stopped: None,
                is_ending: false,
            };
            taken.lost.extend(held.insert(job.id, delivery).filter(HeldDelivery::is_renewed));
            taken.jobs.push(job);
        }
        taken
    }

    /// Whether a lease that is to be renewed may have run out, as after a pause of the machine.
    pub(crate) fn may_have_run_out(&self, now: Timestamp) -> bool {
        self.lock().values().any(|delivery| delivery.is_renewed() && delivery.until <= now)
    }

    /// All leases that are to be renewed.
    pub(crate) fn leases(&self) -> Vec<(DeliveryId, Lease)> {
        let held = self.lock();
        let renewed = held.iter().filter(|(_, delivery)| delivery.is_renewed());
        renewed.map(|(id, delivery)| (*id, delivery.lease.clone())).collect()
    }

    /// The claims that these leases go back to.
    pub(crate) fn claims(&self) -> Vec<(DeliveryId, Lease)> {
        let held = self.lock();
        let renewed = held.iter().filter(|(_, delivery)| delivery.is_renewed());
        renewed.map(|(id, held)| (*id, Lease { owner: held.lease.owner.clone(), fence: held.claim })).collect()
    }

    /// The lease that a claim has now; its own if it is held no longer.
    pub(crate) fn lease_of(&self, id: DeliveryId, claim: &Lease) -> Lease {
        let held = self.lock();
        held.get(&id).filter(|delivery| delivery.claim == claim.fence).map_or(claim, |delivery| &delivery.lease).clone()
    }

    /// The events that they are about, for the log.
    pub(crate) fn events(&self) -> Vec<String> {
        let held = self.lock();
        held.values().filter(|delivery| delivery.is_renewed()).map(|delivery| delivery.event_id.clone()).collect()
    }

    /// Whether a delivery may be sent: it is ours for all we know. `None` if only the store can tell.
    pub(crate) fn is_ours(&self, id: DeliveryId, claim: i64, now: Timestamp) -> Option<bool> {
        match self.lock().get(&id).filter(|delivery| delivery.claim == claim) {
            Some(delivery) if !delivery.is_renewed() => Some(false),
            Some(delivery) if delivery.until > now => Some(true),
            Some(_) => None,
            None => Some(false),
        }
    }

    /// A beat worked for these, asked for when their leases would last until then.
    pub(crate) fn prolong(&self, leases: &[(DeliveryId, Lease)], until: Timestamp) {
        let mut held = self.lock();
        for (id, lease) in leases {
            if let Some(delivery) = held.get_mut(id).filter(|delivery| delivery.lease.fence == lease.fence) {
                delivery.until = delivery.until.max(until);
            }
        }
    }

    /// The store says that these are not ours. Returns those that were not about to end anyway, which are renewed no
    /// longer: what is about to end may just have ended, and its mark will tell.
    pub(crate) fn lose(&self, leases: &[(DeliveryId, Lease)]) -> Vec<HeldDelivery> {
        let mut held = self.lock();
        let mut lost = Vec::new();
        for (id, lease) in leases {
            let ours = |delivery: &&mut HeldDelivery| {
                delivery.lease.fence == lease.fence && !delivery.is_ending && delivery.is_renewed()
            };
            if let Some(delivery) = held.get_mut(id).filter(ours) {
                delivery.stopped = Some(StopReason::LeaseLost);
                lost.push(delivery.clone());
            }
        }
        lost
    }

    /// A beat failed: those whose leases had run out when it was asked for are renewed no longer.
    pub(crate) fn run_out(&self, asked_at: Timestamp) -> Vec<HeldDelivery> {
        let mut held = self.lock();
        let ended = held.values_mut().filter(|delivery| delivery.is_renewed() && delivery.until <= asked_at);
        ended
            .map(|delivery| {
                delivery.stopped = Some(StopReason::RenewalFailed);
                delivery.clone()
            })
            .collect()
    }

    /// The mark of a delivery is about to be stored.
    pub(crate) fn ends(&self, id: DeliveryId, claim: i64) {
        if let Some(delivery) = self.lock().get_mut(&id).filter(|delivery| delivery.claim == claim) {
            delivery.is_ending = true;
        }
    }

    /// Forgets a claim, but not a later one of the same row. Returns it unless it is known to be lost: of one whose
    /// renewal failed, only its end tells what became of it.
    pub(crate) fn forget(&self, id: DeliveryId, claim: i64) -> Option<HeldDelivery> {
        let mut held = self.lock();
        if held.get(&id)?.claim != claim {
            return None;
        }
        held.remove(&id).filter(|delivery| delivery.stopped != Some(StopReason::LeaseLost))
    }
}
