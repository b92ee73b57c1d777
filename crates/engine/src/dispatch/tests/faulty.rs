//! A store that fails now and then, before or after it has done what it was asked, and beside it a model of who holds
//! what, made of nothing but the answers: the store must never contradict it.
//!
//! The store reads the clock at some instant between the call and its answer, and a test may move the clock meanwhile.
//! So a lease in the model ends when it ends at the earliest, counted from before the call, and a claim is taken to be
//! made when it was made at the latest, after the answer.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    AccountId, DeliveryId, EventId, Lease, WebhookId,
    delivery::{
        Attempt, AttemptOutcome, BreakerRules, ClaimLimits, Claimed, Delivery, DeliveryFilter, DeliveryPage,
        FinishReport, Moved, NewWebhook, OutboxLimits, Overview, Webhook, WebhookPatch, WebhookSecret,
    },
    ports::{Clock, DeliveryStore, Ids, StoreError, StoreResult, TestOutcome, Viewer},
};
use jiff::Timestamp;
use testkit::{SeededIds, SimulatedClock};

/// Who holds a row, as the answers tell.
#[derive(Debug, Clone)]
struct Holder {
    lease: Lease,
    /// When it ends at the earliest.
    until: Timestamp,
}

/// What the answers tell.
#[derive(Debug, Default)]
pub(super) struct Model {
    holders: HashMap<DeliveryId, Holder>,
    /// Marks that were stored.
    pub(super) marked: usize,
    /// Marks that came too late.
    pub(super) skipped: usize,
}

/// What may become of a call that stores marks.
#[derive(Debug)]
pub(super) enum MarkTrouble {
    Fails(StoreError),
    Panics,
    /// The first of them is locked by somebody else.
    FirstIsLocked,
}

/// The store, as one worker sees it.
#[derive(Debug)]
pub(super) struct Faulty {
    pub(super) inner: Arc<dyn DeliveryStore>,
    pub(super) clock: SimulatedClock,
    pub(super) model: Arc<Mutex<Model>>,
    pub(super) chance: SeededIds,
    /// How likely a call fails, of 1.
    pub(super) trouble: Arc<Mutex<f64>>,
    /// What becomes of the next calls that store marks.
    pub(super) marks: Arc<Mutex<VecDeque<MarkTrouble>>>,
    /// Whoever locks it keeps the answers to renewals, and those that show a webhook, on their way.
    pub(super) answers: Arc<tokio::sync::Mutex<()>>,
}

impl Faulty {
    fn fails(&self) -> StoreResult<()> {
        let trouble = *self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if self.chance.fraction() < trouble { Err(StoreError::Unavailable("as wanted".to_owned())) } else { Ok(()) }
    }

    fn with<T>(&self, see: impl FnOnce(&mut Model) -> T) -> T {
        see(&mut self.model.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Model {
    fn holds(&self, id: DeliveryId, lease: &Lease) -> bool {
        self.holders.get(&id).is_some_and(|holder| holder.lease == *lease)
    }

    /// A row was claimed at this instant at the latest, for a lease that ends at `until` at the earliest.
    fn claim(&mut self, id: DeliveryId, lease: &Lease, at: Timestamp, until: Timestamp) {
        if let Some(holder) = self.holders.get(&id) {
            assert!(holder.until <= at, "D4: {id} was claimed while {holder:?} had it, at {at}");
            assert!(holder.lease.fence < lease.fence, "the fence of {id} does not rise: {holder:?}, {lease:?}");
        }
        self.holders.insert(id, Holder { lease: lease.clone(), until });
    }

    /// The lease is over, but what is known of its fence stays.
    fn end(&mut self, id: DeliveryId) {
        if let Some(holder) = self.holders.get_mut(&id) {
            holder.until = Timestamp::MIN;
        }
    }

    /// Somebody called it off or queued it again: whoever had it has lost it.
    pub(super) fn interfere(&mut self, id: DeliveryId) {
        if let Some(holder) = self.holders.get_mut(&id) {
            holder.until = Timestamp::MIN;
            holder.lease.owner.clear();
        }
    }
}

/// Hands calls on as they are, but for those that are written out behind.
macro_rules! hand_on {
    ({ $(fn $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)+ } { $($own:tt)+ }) => {
        #[async_trait]
        impl DeliveryStore for Faulty {
            $($own)+
            $(
                async fn $name(&self, $($argument: $kind),*) -> StoreResult<$answer> {
                    self.inner.$name($($argument),*).await
                }
            )+
        }
    };
}

hand_on!({
    fn webhooks(account: AccountId) -> Vec<Webhook>;
    fn webhook(account: AccountId, id: WebhookId) -> Option<Webhook>;
    fn create_webhook(account: AccountId, new: NewWebhook) -> Webhook;
    fn update_webhook(account: AccountId, id: WebhookId, patch: WebhookPatch) -> Option<Webhook>;
    fn delete_webhook(account: AccountId, id: WebhookId) -> bool;
    fn rotate_secret(account: AccountId, id: WebhookId, secret: WebhookSecret, keep: Duration) -> Option<Webhook>;
    fn test_webhook(account: AccountId, id: WebhookId) -> TestOutcome;
    fn replay(account: AccountId, id: WebhookId, since: Timestamp, until: Option<Timestamp>) -> Option<u64>;
    fn event_data(event: EventId) -> Option<String>;
    fn next_delivery_in(but_not_to: &[WebhookId]) -> Option<Duration>;
    fn outbox_overview(viewer: Viewer) -> Overview;
    fn deliveries(account: AccountId, filter: DeliveryFilter, limit: u32, after: Option<&str>) -> DeliveryPage;
    fn delivery(account: AccountId, id: &str) -> Option<(Delivery, Vec<Attempt>)>;
    fn requeue_delivery(account: AccountId, id: &str) -> Moved;
    fn cancel_delivery(account: AccountId, id: &str, reason: &str) -> Moved;
    fn requeue_failed(account: AccountId, webhook: WebhookId) -> Option<u64>;
    fn prune_deliveries(limits: OutboxLimits) -> u64;
} {
    async fn receiver(&self, id: WebhookId) -> StoreResult<Option<Webhook>> {
        let webhook = self.inner.receiver(id).await;
        drop(self.answers.lock().await);
        webhook
    }

    async fn claim_deliveries(&self, owner: &str, lease: Duration, limits: &ClaimLimits) -> StoreResult<Claimed> {
        self.fails()?;
        let asked_at = self.clock.now();
        let claimed = self.inner.claim_deliveries(owner, lease, limits).await?;
        let answered_at = self.clock.now();
        assert!(claimed.jobs.len() <= limits.limit as usize, "more than the limit");
        self.with(|model| {
            for job in &claimed.jobs {
                model.claim(job.id, &job.lease, answered_at, asked_at + lease);
            }
        });
        self.fails()?;
        Ok(claimed)
    }

    async fn renew_deliveries(&self, leases: &[(DeliveryId, Lease)], lease: Duration) -> StoreResult<Vec<DeliveryId>> {
        self.fails()?;
        let asked_at = self.clock.now();
        let lost = self.inner.renew_deliveries(leases, lease).await?;
        self.with(|model| {
            for (id, held) in leases.iter().filter(|(id, _)| !lost.contains(id)) {
                assert!(model.holds(*id, held), "FR-002: {id} was renewed for {held:?}, who had lost it");
                model.holders.insert(*id, Holder { lease: held.clone(), until: asked_at + lease });
            }
        });
        drop(self.answers.lock().await);
        self.fails()?;
        Ok(lost)
    }

    async fn release_deliveries(&self, leases: &[(DeliveryId, Lease)]) -> StoreResult<()> {
        self.fails()?;
        self.inner.release_deliveries(leases).await?;
        self.with(|model| {
            for (id, held) in leases {
                if model.holds(*id, held) {
                    model.end(*id);
                }
            }
        });
        self.fails()
    }

    async fn finish_deliveries(&self, mut outcome: Vec<AttemptOutcome>, rules: &BreakerRules) -> StoreResult<FinishReport> {
        self.fails()?;
        let trouble = self.marks.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let locked = match trouble {
            Some(MarkTrouble::Fails(error)) => return Err(error),
            Some(MarkTrouble::Panics) => panic!("this call panics, as it should in this test"),
            Some(MarkTrouble::FirstIsLocked) => vec![outcome.remove(0).id],
            None => Vec::new(),
        };
        let marks = self.inner.finish_deliveries(outcome.clone(), rules).await?;
        self.with(|model| {
            for mark in &outcome {
                if marks.skipped.contains(&mark.id) {
                    model.skipped += 1;
                    continue;
                }
                assert!(model.holds(mark.id, &mark.lease), "D6: a late mark changed {}: {mark:?}", mark.id);
                model.marked += 1;
                model.end(mark.id);
            }
        });
        self.fails()?;
        Ok(FinishReport { locked, ..marks })
    }

});
