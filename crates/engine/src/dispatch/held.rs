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
}

impl StopReason {
    /// As the log has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::LeaseLost => "lease_lost",
            Self::RenewalFailed => "renewal_failed",
        }
    }
}

/// A delivery that is held.
#[derive(Debug, Clone)]
pub(crate) struct HeldDelivery {
    pub(crate) lease: Lease,
    pub(crate) event_id: String,
    /// Until when the lease lasts, by our own clock, counted from when it was asked for.
    until: Timestamp,
    /// It is renewed no longer.
    is_stopped: bool,
    /// Its mark is on its way into the store, and the lease ends with that.
    is_ending: bool,
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

    /// Holds what was claimed, from the claim on. Returns earlier claims of the same rows that were renewed until now:
    /// by our own hand they are lost.
    pub(crate) fn hold(&self, jobs: &[DeliveryJob], until: Timestamp) -> Vec<HeldDelivery> {
        let mut held = self.lock();
        let mut lost = Vec::new();
        for job in jobs {
            let delivery = HeldDelivery {
                lease: job.lease.clone(),
                event_id: job.event_id.clone(),
                until,
                is_stopped: false,
                is_ending: false,
            };
            lost.extend(held.insert(job.id, delivery).filter(|before| !before.is_stopped));
        }
        lost
    }

    /// Whether a lease that is to be renewed may have run out, as after a pause of the machine.
    pub(crate) fn may_have_run_out(&self, now: Timestamp) -> bool {
        self.lock().values().any(|delivery| !delivery.is_stopped && delivery.until <= now)
    }

    /// All leases that are to be renewed.
    pub(crate) fn leases(&self) -> Vec<(DeliveryId, Lease)> {
        let held = self.lock();
        let renewed = held.iter().filter(|(_, delivery)| !delivery.is_stopped);
        renewed.map(|(id, delivery)| (*id, delivery.lease.clone())).collect()
    }

    /// The events that they are about, for the log.
    pub(crate) fn events(&self) -> Vec<String> {
        let held = self.lock();
        held.values().filter(|delivery| !delivery.is_stopped).map(|delivery| delivery.event_id.clone()).collect()
    }

    /// Whether a delivery may be sent: it is ours for all we know. `None` if only the store can tell.
    pub(crate) fn is_ours(&self, id: DeliveryId, fence: i64, now: Timestamp) -> Option<bool> {
        match self.lock().get(&id).filter(|delivery| delivery.lease.fence == fence) {
            Some(delivery) if delivery.is_stopped => Some(false),
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
                delivery.lease.fence == lease.fence && !delivery.is_ending && !delivery.is_stopped
            };
            if let Some(delivery) = held.get_mut(id).filter(ours) {
                delivery.is_stopped = true;
                lost.push(delivery.clone());
            }
        }
        lost
    }

    /// A beat failed: those whose leases had run out when it was asked for are renewed no longer.
    pub(crate) fn run_out(&self, asked_at: Timestamp) -> Vec<HeldDelivery> {
        let mut held = self.lock();
        let ended = held.values_mut().filter(|delivery| !delivery.is_stopped && delivery.until <= asked_at);
        ended
            .map(|delivery| {
                delivery.is_stopped = true;
                delivery.clone()
            })
            .collect()
    }

    /// The mark of a delivery is about to be stored.
    pub(crate) fn ends(&self, id: DeliveryId, fence: i64) {
        if let Some(delivery) = self.lock().get_mut(&id).filter(|delivery| delivery.lease.fence == fence) {
            delivery.is_ending = true;
        }
    }

    /// Forgets a claim, but not a later one of the same row. Returns it if it was renewed until now.
    pub(crate) fn forget(&self, id: DeliveryId, fence: i64) -> Option<HeldDelivery> {
        let mut held = self.lock();
        if held.get(&id)?.lease.fence != fence {
            return None;
        }
        held.remove(&id).filter(|delivery| !delivery.is_stopped)
    }
}
