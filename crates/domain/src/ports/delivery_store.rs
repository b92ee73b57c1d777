//! Webhooks and the outbox.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{StoreResult, Viewer};
use crate::{
    delivery::{
        Attempt, AttemptOutcome, BreakerRules, ClaimLimits, Claimed, Delivery, DeliveryFilter, DeliveryPage,
        FinishReport, Moved, NewWebhook, OutboxLimits, Overview, Webhook, WebhookPatch, WebhookSecret,
    },
    ids::{AccountId, DeliveryId, EventId, WebhookId},
    lease::Lease,
};

/// What became of a request to test a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestOutcome {
    /// The event is queued: its delivery.
    Queued(Box<Delivery>),
    /// It is disabled. Nothing was queued.
    Disabled,
    /// There is no such webhook.
    NotFound,
}

/// Webhooks, and the outbox of events for them.
///
/// What happens is written down by whoever makes it happen, in its transaction: a
/// [`DomainEvent`](crate::delivery::DomainEvent) that [somebody wants](crate::delivery::fan_out) becomes one event, and one
/// delivery for each webhook that does, of those who follow its feed. What a follower calls the feed, and where it keeps it,
/// is looked up when a delivery is claimed.
///
/// Ids of events and deliveries are texts in the API: [`public_id`](crate::delivery::public_id) of `evt` or `dlv`, with
/// a key that the installation was given when it was made. A text that is none of ours is of no row.
#[async_trait]
pub trait DeliveryStore: Send + Sync + std::fmt::Debug {
    /// An account's webhooks, by id.
    async fn webhooks(&self, account: AccountId) -> StoreResult<Vec<Webhook>>;
    async fn webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<Option<Webhook>>;
    /// A webhook, for whoever sends to it.
    async fn receiver(&self, id: WebhookId) -> StoreResult<Option<Webhook>>;
    async fn create_webhook(&self, account: AccountId, new: NewWebhook) -> StoreResult<Webhook>;
    /// Changes a webhook; `None` if there is none. One that was disabled and is enabled is well, and what waits for it is
    /// due at once, in the same transaction.
    async fn update_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        patch: WebhookPatch,
    ) -> StoreResult<Option<Webhook>>;
    /// Removes a webhook. It is gone at once for everybody; its deliveries are removed by
    /// [`prune_deliveries`](Self::prune_deliveries). False if there is none.
    async fn delete_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<bool>;
    /// Gives a webhook another secret; the one that it had signs along for so long, beside older ones whose time is not
    /// over. `None` if there is no such webhook.
    async fn rotate_secret(
        &self,
        account: AccountId,
        id: WebhookId,
        secret: WebhookSecret,
        keep: Duration,
    ) -> StoreResult<Option<Webhook>>;
    /// Queues a `webhook.test` for a webhook, and for it alone. It is due before all else that waits for it, and an open
    /// breaker lets it through as its next probe. Where the receiver has asked to be left alone, it waits for the end of
    /// that.
    async fn test_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<TestOutcome>;
    /// Queues what happened between these times, both included, and is still known, once more for a webhook, as far as it wants it:
    /// what was delivered, failed or cancelled is queued again, what it never had is queued, what is pending
    /// stays. In chunks. Tests, and what a feed held when it was first fetched, are not repeated, the latter unless it
    /// wants that; nor is what happened in a feed before its account followed it. Returns how many deliveries were queued;
    /// `None` if there is no such webhook.
    async fn replay(
        &self,
        account: AccountId,
        id: WebhookId,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> StoreResult<Option<u64>>;

    /// Claims deliveries that are due (pending, `nextAttemptAt <= now`, no lease or a past one) to webhooks that are
    /// enabled and have not asked to be left alone, as the [limits](ClaimLimits) allow and as their [rate](crate::delivery::Rate)
    /// allows: the first of each webhook before the second of any. Of one webhook those that were never tried and those that
    /// were take turns, of each the longest due first; tests go before both. Two workers never hold the same one. A lease counts no further from
    /// now than its own length: a clock that went back locks nothing. Events of a type that this version does not know are
    /// left to those that do.
    ///
    /// Of a webhook whose [breaker](crate::delivery::Breaker) is open, one alone is claimed, as a probe, once its time has
    /// come and while no delivery to it is held by anyone: the newest that was never tried, but a test before it; else a row
    /// that was tried before, of a hundred due first and a hundred due last, by turns that which was
    /// [tried most or least](crate::delivery::PROBES_A_ROUND).
    ///
    /// The fence rises by one, and by more if since the last claim of the row something was marked or called off: so
    /// whoever still works on that knows whether it may go on.
    async fn claim_deliveries(&self, owner: &str, lease: Duration, limits: &ClaimLimits) -> StoreResult<Claimed>;
    /// What an event is about, if it was too large to come with the claim; `None` if it is gone.
    async fn event_data(&self, event: EventId) -> StoreResult<Option<String>>;
    /// Prolongs leases that are still held (row, owner, fence, pending); returns the deliveries whose lease is lost.
    async fn renew_deliveries(&self, leases: &[(DeliveryId, Lease)], lease: Duration) -> StoreResult<Vec<DeliveryId>>;
    /// Releases claims that were never sent: no attempt is counted.
    async fn release_deliveries(&self, leases: &[(DeliveryId, Lease)]) -> StoreResult<()>;
    /// Stores how attempts ended, with their logs, each guarded by its lease (row, owner, fence, pending), all in one
    /// transaction but for those that are locked, and ends the leases. What they mean is decided by
    /// [`Health::after`](crate::delivery::Health::after), in the order given; for one whose webhook has another URL by now
    /// by [`Consequence::of_another_receiver`](crate::delivery::Consequence::of_another_receiver). What was given up is
    /// recorded for other webhooks, in the same transaction.
    async fn finish_deliveries(&self, finished: Vec<AttemptOutcome>, rules: &BreakerRules)
    -> StoreResult<FinishReport>;
    /// When the next delivery will be due that could be claimed, as a delay from now, but for those to these webhooks;
    /// `None` if there is none to come. It is a hint: whoever sleeps longer than a second looks again.
    async fn next_delivery_in(&self, but_not_to: &[WebhookId]) -> StoreResult<Option<Duration>>;

    /// The outbox in numbers: of an account's webhooks, or of all.
    async fn outbox_overview(&self, viewer: Viewer) -> StoreResult<Overview>;
    /// A page of deliveries, the newest first, after the one with this id. An id that is none of ours is after all.
    async fn deliveries(
        &self,
        account: AccountId,
        filter: DeliveryFilter,
        limit: u32,
        after: Option<&str>,
    ) -> StoreResult<DeliveryPage>;
    /// One delivery with its attempts, the first first.
    async fn delivery(&self, account: AccountId, id: &str) -> StoreResult<Option<(Delivery, Vec<Attempt>)>>;
    /// Queues a delivery again that has failed or was delivered, with all its attempts.
    async fn requeue_delivery(&self, account: AccountId, id: &str) -> StoreResult<Moved>;
    /// Calls off a delivery that is pending or has failed. If it is being sent, the mark of that attempt is skipped.
    async fn cancel_delivery(&self, account: AccountId, id: &str, reason: &str) -> StoreResult<Moved>;
    /// Queues all failed deliveries of a webhook again, in chunks; returns how many. `None` if there is no such webhook.
    async fn requeue_failed(&self, account: AccountId, webhook: WebhookId) -> StoreResult<Option<u64>>;
    /// Removes deliveries that have been done with for too long, those of removed webhooks, and events without
    /// deliveries that are older than a delivered delivery may be; returns how many deliveries and events.
    async fn prune_deliveries(&self, limits: OutboxLimits) -> StoreResult<u64>;
}
