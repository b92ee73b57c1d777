//! The deliveries that this node holds, from their claims until their marks are stored: the one structure behind the one
//! lock of the dispatcher. What each of them is at is a [state](delivery); what goes to which webhook, and how much of it,
//! is in the [queues]. Each change of the one is a change of the other, under the same lock.
//!
//! Nothing here waits: the lock is held for a look or a change, never across a request or a call of the store. So a beat
//! never waits for a send.

mod delivery;
mod queues;
mod webhook_queue;

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    DeliveryId, Lease, WebhookId,
    delivery::{AttemptOutcome, BreakerRules, ClaimLimits, Claimed, DeliveryJob, Webhook},
};
use jiff::Timestamp;

use self::delivery::{DeliveryEvent, HeldDelivery, Renewal, Stage};
pub(super) use self::{
    delivery::{StopReason, Stopped},
    queues::{EndEffects, Queues, ReadyDelivery},
};

/// A claim of a delivery: the same row may be claimed again, by another fence, while the first claim is still being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClaimKey {
    pub(super) id: DeliveryId,
    pub(super) fence: i64,
}

impl From<&DeliveryJob> for ClaimKey {
    fn from(job: &DeliveryJob) -> Self {
        Self { id: job.id, fence: job.lease.fence }
    }
}

impl From<&AttemptOutcome> for ClaimKey {
    fn from(outcome: &AttemptOutcome) -> Self {
        Self { id: outcome.id, fence: outcome.lease.fence }
    }
}

/// How a delivery that was begun ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum SendEnd<'o> {
    /// It was sent, and its receiver was slow, or not.
    Attempted { outcome: &'o AttemptOutcome, is_slow: bool },
    /// It was not sent, and is to be released.
    Unsent,
    /// It was not ours any more, and not sent.
    Lost,
}

/// What a claim brought.
#[derive(Debug)]
pub(super) struct TakenIn {
    /// Deliveries that are to be sent.
    pub(super) count: usize,
    /// There may be more, and capacity for it.
    pub(super) may_have_more: bool,
    /// Earlier claims of the same rows that were renewed until now.
    pub(super) stopped: Vec<Stopped>,
}

/// What the end of marks has made of things.
#[derive(Debug, Default)]
pub(super) struct MarksEnd {
    pub(super) stopped: Vec<Stopped>,
    /// There is capacity where there was none.
    pub(super) frees_capacity: bool,
}

#[derive(Debug)]
pub(super) struct InFlight {
    deliveries: BTreeMap<ClaimKey, HeldDelivery>,
    queues: Queues,
    /// A claim is on its way, and may bring a row again whose lease ran out here.
    pub(super) is_claiming: bool,
}

impl InFlight {
    /// With so many places to share, and so many for one webhook.
    pub(super) fn new(places: usize, webhook_places: u32, breaker: BreakerRules) -> Self {
        Self { deliveries: BTreeMap::new(), queues: Queues::new(places, webhook_places, breaker), is_claiming: false }
    }

    /// How many are being sent, and how many wait.
    pub(super) fn counts(&self) -> (u32, u32) {
        self.queues.counts()
    }

    /// What a claim may bring.
    pub(super) fn claim_limits(&mut self) -> ClaimLimits {
        self.queues.claim_limits()
    }

    /// Webhooks that have as much as they may.
    pub(super) fn full(&self) -> Vec<WebhookId> {
        self.queues.full()
    }

    pub(super) fn is_slow(&self, webhook: WebhookId) -> bool {
        self.queues.is_slow(webhook)
    }

    /// A request has taken long: its receiver is slow.
    pub(super) fn slowed(&mut self, webhook: WebhookId) {
        self.queues.slowed(webhook);
    }

    /// A webhook as it was a moment ago; `None` if it is to be read again before something is sent to it.
    pub(super) fn known(&self, webhook: WebhookId, now: Timestamp) -> Option<Arc<Webhook>> {
        self.queues.known(webhook, now)
    }

    // What happens to a delivery, in this order.

    /// Takes in what was claimed within these limits, asked for at this time, under leases that last until then.
    pub(super) fn take_in(
        &mut self,
        limits: &ClaimLimits,
        mut claimed: Claimed,
        asked_at: Timestamp,
        until: Timestamp,
    ) -> TakenIn {
        let (jobs, stopped) = self.hold(claimed.jobs, until);
        let count = jobs.len();
        claimed.jobs = jobs;
        self.queues.take_in(limits, claimed, asked_at);
        TakenIn { count, may_have_more: self.queues.may_have_more(), stopped }
    }

    /// Holds what was claimed. What this node is sending already, because it stood still and its lease ran out, is not to be
    /// sent once more: it has another lease, that is all. Returns the rest, and what is lost by it.
    pub(super) fn hold(&mut self, jobs: Vec<DeliveryJob>, until: Timestamp) -> (Vec<DeliveryJob>, Vec<Stopped>) {
        let (mut new, mut stopped) = (Vec::with_capacity(jobs.len()), Vec::new());
        for job in jobs {
            if let Some(earlier) = self.claims_of(job.id).next_back() {
                if earlier.is_claimed_again_by(&job) {
                    earlier.reclaimed(job.lease, until);
                    continue;
                }
                stopped.extend(earlier.apply(DeliveryEvent::Superseded));
            }
            self.deliveries.insert(ClaimKey::from(&job), HeldDelivery::new(&job, until));
            new.push(job);
        }
        (new, stopped)
    }

    /// The next that may be sent, each webhook in its turn.
    pub(super) fn next(&mut self) -> Option<ReadyDelivery> {
        let ready = self.queues.next()?;
        self.apply(ClaimKey::from(&ready.job), DeliveryEvent::Begun);
        Some(ready)
    }

    /// Whether a delivery may be sent: it is ours for all we know. `None` if only the store can tell.
    pub(super) fn is_ours(&self, key: ClaimKey, now: Timestamp) -> Option<bool> {
        match self.deliveries.get(&key) {
            Some(held) if held.state.is_renewed() => (held.until > now).then_some(true),
            _ => Some(false),
        }
    }

    /// What was begun has ended.
    pub(super) fn ended(&mut self, key: ClaimKey, webhook: WebhookId, end: SendEnd<'_>) -> EndEffects {
        let outcome = match end {
            SendEnd::Attempted { outcome, is_slow } => {
                self.apply(key, DeliveryEvent::Ended);
                Some((outcome, is_slow))
            }
            SendEnd::Unsent => {
                self.apply(key, DeliveryEvent::Unsent);
                None
            }
            SendEnd::Lost => {
                self.deliveries.remove(&key);
                None
            }
        };
        let effects = self.queues.ended(webhook, outcome);
        self.unqueued(&effects.released);
        effects
    }

    /// These marks cannot be stored for now: their webhooks are sent nothing more until they are.
    pub(super) fn defer(&mut self, outcomes: &[AttemptOutcome]) {
        for outcome in outcomes {
            let Some(held) = self.deliveries.get_mut(&ClaimKey::from(outcome)) else { continue };
            let before = held.state.stage;
            held.apply(DeliveryEvent::MarkDeferred);
            if held.state.stage != before {
                self.queues.defer(outcome.webhook_id);
            }
        }
    }

    /// These marks have been stored, or never will be.
    pub(super) fn marked<'o>(&mut self, ends: impl Iterator<Item = (&'o AttemptOutcome, StopReason)>) -> MarksEnd {
        let mut end = MarksEnd::default();
        let mut webhooks = Vec::new();
        for (outcome, reason) in ends {
            webhooks.push(outcome.webhook_id);
            let Some(held) = self.deliveries.remove(&ClaimKey::from(outcome)) else { continue };
            if held.state.stage == Stage::Deferred {
                end.frees_capacity |= self.queues.undefer(outcome.webhook_id);
            }
            end.stopped.extend(held.stop(reason));
        }
        end.frees_capacity |= self.queues.marked(webhooks.into_iter());
        end
    }

    /// These are held no longer, and their leases are to be released. Returns the leases that they have now.
    pub(super) fn release(&mut self, keys: &[ClaimKey], owner: &str) -> (Vec<(DeliveryId, Lease)>, Vec<Stopped>) {
        let (mut leases, mut stopped) = (Vec::with_capacity(keys.len()), Vec::new());
        for key in keys {
            let held = self.deliveries.remove(key);
            let by_claim = || Lease { owner: owner.to_owned(), fence: key.fence };
            leases.push((key.id, held.as_ref().map_or_else(by_claim, |held| held.lease.clone())));
            stopped.extend(held.and_then(|held| held.stop(StopReason::Completed)));
        }
        (leases, stopped)
    }

    // What waits, and is not to be sent.

    /// A webhook was read: it was so when that was asked, or not there. Returns what waited for it, if it is to be sent
    /// nothing now.
    pub(super) fn reread(
        &mut self,
        id: WebhookId,
        webhook: Option<&Arc<Webhook>>,
        asked_at: Timestamp,
    ) -> Vec<DeliveryJob> {
        let released = self.queues.reread(id, webhook, asked_at);
        self.unqueued(&released);
        released
    }

    /// Takes all that waits out of the queues.
    pub(super) fn clear(&mut self) -> Vec<DeliveryJob> {
        let released = self.queues.clear();
        self.unqueued(&released);
        released
    }

    fn unqueued(&mut self, jobs: &[DeliveryJob]) {
        for job in jobs {
            self.apply(ClaimKey::from(job), DeliveryEvent::Unsent);
        }
    }

    // Leases.

    /// All leases that are to be renewed.
    pub(super) fn leases(&self) -> Vec<(DeliveryId, Lease)> {
        self.renewed().map(|(key, held)| (key.id, held.lease.clone())).collect()
    }

    /// The claims that these leases go back to.
    pub(super) fn claims(&self) -> Vec<ClaimKey> {
        self.renewed().map(|(key, _)| *key).collect()
    }

    /// The events that they are about, for the log.
    pub(super) fn events(&self) -> Vec<String> {
        self.renewed().map(|(_, held)| held.event_id.clone()).collect()
    }

    fn renewed(&self) -> impl Iterator<Item = (&ClaimKey, &HeldDelivery)> {
        self.deliveries.iter().filter(|(_, held)| held.state.renewal == Renewal::Renewed)
    }

    /// Whether a lease that is to be renewed may have run out, as after a pause of the machine.
    pub(super) fn may_have_expired(&self, now: Timestamp) -> bool {
        self.renewed().any(|(_, held)| held.until <= now)
    }

    /// The lease that a claim has now.
    pub(super) fn lease_of(&self, key: ClaimKey) -> Option<&Lease> {
        self.deliveries.get(&key).map(|held| &held.lease)
    }

    /// A beat worked for these, asked for when their leases would last until then.
    pub(super) fn prolong(&mut self, leases: &[(DeliveryId, Lease)], until: Timestamp) {
        for (id, lease) in leases {
            for held in self.claims_of(*id).filter(|held| held.lease.fence == lease.fence) {
                held.until = held.until.max(until);
            }
        }
    }

    /// The store says that these are not ours.
    pub(super) fn refused(&mut self, leases: &[(DeliveryId, Lease)]) -> Vec<Stopped> {
        let mut stopped = Vec::new();
        for (id, lease) in leases {
            let meant = self.claims_of(*id).filter(|held| held.lease.fence == lease.fence);
            stopped.extend(meant.filter_map(|held| held.apply(DeliveryEvent::Refused)));
        }
        stopped
    }

    /// A beat failed: those whose leases had run out when it was asked for are renewed no longer.
    pub(super) fn expire(&mut self, asked_at: Timestamp) -> Vec<Stopped> {
        let expired = self.deliveries.values_mut().filter(|held| held.until <= asked_at);
        expired.filter_map(|held| held.apply(DeliveryEvent::Expired)).collect()
    }

    fn apply(&mut self, key: ClaimKey, event: DeliveryEvent) {
        if let Some(held) = self.deliveries.get_mut(&key) {
            held.apply(event);
        }
    }

    /// All claims of a row that are held, the latest last.
    fn claims_of(&mut self, id: DeliveryId) -> impl DoubleEndedIterator<Item = &mut HeldDelivery> {
        let all = ClaimKey { id, fence: i64::MIN }..=ClaimKey { id, fence: i64::MAX };
        self.deliveries.range_mut(all).map(|(_, held)| held)
    }
}

#[cfg(test)]
impl InFlight {
    /// How many were sent whose marks are not stored yet.
    pub(super) fn unmarked(&self) -> u32 {
        self.queues.unmarked()
    }

    /// Checks that the queues count what the deliveries are at.
    pub(super) fn check(&self) {
        let at = |stages: &[Stage]| {
            let count = self.deliveries.values().filter(|held| stages.contains(&held.state.stage)).count();
            u32::try_from(count).unwrap()
        };
        assert_eq!(self.counts(), (at(&[Stage::Sending]), at(&[Stage::Queued])), "{:?}", self.deliveries);
        assert_eq!(self.unmarked(), at(&[Stage::Unmarked, Stage::Deferred]), "{:?}", self.deliveries);
    }
}
