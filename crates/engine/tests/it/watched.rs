//! A store whose beats are counted, and the first of which panics.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    Cursor, DeliveryId, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, EventId, Feed, FeedId, FeedPatch, FeedSeed,
    Folder, FolderId, Lease, NewFeed, SubscriptionId, WebhookId,
    changes::{ChangeNumber, ChangesPage},
    delivery::{
        Attempt, AttemptOutcome, BreakerRules, ClaimLimits, Claimed, Delivery, DeliveryFilter, DeliveryPage,
        FinishReport, Moved, NewWebhook, OutboxLimits, Overview, Webhook, WebhookPatch, WebhookSecret,
    },
    entry::Counts,
    ingest::{Hash, KnownEntries, PollJob, PollResult, Stored},
    ports::{
        Batched, ChangeStore, Changed, Claim, Conflict, DeliveryStore, EntryStore, FeedStore, FolderStore,
        ImportOutcome, MarkRead, NewFeedOutcome, PollStore, PruneLimits, PushStore, Store, StoreResult,
        SubscriptionChange, TestOutcome, UpdateOutcome,
    },
    push::{Event, Offer, Push, PushStored, PushTarget, Rules, Subscription, SubscriptionJob},
};
use jiff::Timestamp;
use tokio::sync::watch;

/// Does all that the store inside it does, but panics at the first beat.
#[derive(Debug)]
pub(crate) struct Watched {
    inner: Arc<dyn Store>,
    was_asked: AtomicBool,
    beats: watch::Sender<usize>,
}

impl Watched {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, was_asked: AtomicBool::new(false), beats: watch::Sender::new(0) }
    }

    /// How many beats have ended, the one that panicked not among them.
    pub(crate) fn beats(&self) -> watch::Receiver<usize> {
        self.beats.subscribe()
    }
}

/// Hands calls on as they are, but for those that are written out behind.
macro_rules! hand_on {
    ($port:ident { $(fn $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)+ } $({ $($own:tt)+ })?) => {
        #[async_trait]
        impl $port for Watched {
            $($($own)+)?
            $(
                async fn $name(&self, $($argument: $kind),*) -> StoreResult<$answer> {
                    self.inner.$name($($argument),*).await
                }
            )+
        }
    };
}

hand_on!(FolderStore {
    fn folders() -> Vec<Folder>;
    fn create_folder(name: &str) -> Result<Folder, Conflict>;
    fn rename_folder(id: FolderId, name: &str) -> UpdateOutcome<Folder>;
    fn delete_folder(id: FolderId) -> bool;
    fn reorder_folders(ids: &[FolderId]) -> Option<Vec<Folder>>;
});

hand_on!(FeedStore {
    fn feeds() -> Vec<Feed>;
    fn feed(id: FeedId) -> Option<Feed>;
    fn feed_by_url(url: &str) -> Option<FeedId>;
    fn add_feed(feed: NewFeed) -> NewFeedOutcome;
    fn import_feeds(feeds: Vec<FeedSeed>) -> Vec<ImportOutcome>;
    fn update_feed(id: FeedId, patch: FeedPatch) -> UpdateOutcome<Feed>;
    fn delete_feed(id: FeedId) -> bool;
});

hand_on!(EntryStore {
    fn entries(filter: &EntryFilter, limit: u32, after: Option<Cursor>) -> EntryPage;
    fn entry(id: EntryId) -> Option<Entry>;
    fn patch_entry(id: EntryId, patch: EntryPatch) -> Option<Entry>;
    fn patch_entries(ids: &[EntryId], patch: EntryPatch) -> u64;
    fn mark_read(which: MarkRead) -> u64;
    fn counts() -> Counts;
});

hand_on!(PollStore {
    fn claim_due_polls(owner: &str, limit: u32, lease: Duration) -> Vec<PollJob>;
    fn claim_polls(owner: &str, feeds: &[FeedId], lease: Duration) -> Vec<PollJob>;
    fn release_polls(leases: &[(FeedId, Lease)]) -> ();
    fn postpone_polls(leases: &[(FeedId, Lease)], delay: Duration) -> ();
    fn known_entries(feed: FeedId, identities: &[Hash]) -> KnownEntries;
    fn finish_polls(results: Vec<PollResult>) -> Vec<StoreResult<Stored>>;
    fn next_poll_in() -> Option<Duration>;
    fn feed_overview() -> domain::overview::FeedOverview;
    fn prune_entries(limits: PruneLimits) -> u64;
} {
    async fn renew_polls(&self, leases: &[(FeedId, Lease)], lease: Duration) -> StoreResult<Vec<FeedId>> {
        let is_first = !self.was_asked.swap(true, Ordering::SeqCst);
        assert!(!is_first, "the first beat panics, as it should in this test");
        let lost = self.inner.renew_polls(leases, lease).await;
        self.beats.send_modify(|beats| *beats += 1);
        lost
    }
});

hand_on!(PushStore {
    fn subscriptions() -> Vec<Subscription>;
    fn subscription(id: SubscriptionId) -> Option<Subscription>;
    fn subscription_of(feed: FeedId) -> Option<Subscription>;
    fn targets_by_token(tokens: Vec<String>) -> Vec<StoreResult<Option<PushTarget>>>;
    fn push_targets(topic: &str, limit: u32) -> Vec<PushTarget>;
    fn feeds_to_subscribe(base_url: &str, after: FeedId, limit: u32) -> Vec<FeedId>;
    fn subscribe(requests: Vec<(FeedId, Offer)>) -> u32;
    fn stop_push() -> u32;
    fn change_subscriptions(
        changes: Vec<SubscriptionChange>
    ) -> Vec<StoreResult<Batched<SubscriptionChange, Changed>>>;
    fn change_subscription(id: SubscriptionId, claim: Claim, event: Event, rules: Rules) -> Changed;
    fn claim_due_subscriptions(owner: &str, limit: u32, lease: Duration, but_not_at: &[String]) -> Vec<SubscriptionJob>;
    fn claim_expiring_subscriptions(owner: &str, limit: u32, lease: Duration, within: Duration) -> Vec<SubscriptionJob>;
    fn release_subscriptions(leases: &[(SubscriptionId, Lease)]) -> ();
    fn next_step_in() -> Option<Duration>;
    fn push_all(pushes: Vec<Push>) -> Vec<StoreResult<Batched<Push, PushStored>>>;
    fn push(push: Push) -> PushStored;
    fn poll_soon(feed: FeedId, delay: Duration) -> ();
});

hand_on!(DeliveryStore {
    fn webhooks() -> Vec<Webhook>;
    fn webhook(id: WebhookId) -> Option<Webhook>;
    fn create_webhook(new: NewWebhook) -> Webhook;
    fn update_webhook(id: WebhookId, patch: WebhookPatch) -> Option<Webhook>;
    fn delete_webhook(id: WebhookId) -> bool;
    fn rotate_secret(id: WebhookId, secret: WebhookSecret, keep: Duration) -> Option<Webhook>;
    fn test_webhook(id: WebhookId) -> TestOutcome;
    fn replay(id: WebhookId, since: Timestamp, until: Option<Timestamp>) -> Option<u64>;
    fn claim_deliveries(owner: &str, lease: Duration, room: &ClaimLimits) -> Claimed;
    fn event_data(event: EventId) -> Option<String>;
    fn renew_deliveries(leases: &[(DeliveryId, Lease)], lease: Duration) -> Vec<DeliveryId>;
    fn release_deliveries(leases: &[(DeliveryId, Lease)]) -> ();
    fn finish_deliveries(finished: Vec<AttemptOutcome>, rules: &BreakerRules) -> FinishReport;
    fn next_delivery_in(but_not_to: &[WebhookId]) -> Option<Duration>;
    fn outbox_overview() -> Overview;
    fn deliveries(filter: DeliveryFilter, limit: u32, after: Option<&str>) -> DeliveryPage;
    fn delivery(id: &str) -> Option<(Delivery, Vec<Attempt>)>;
    fn requeue_delivery(id: &str) -> Moved;
    fn cancel_delivery(id: &str, reason: &str) -> Moved;
    fn requeue_failed(webhook: WebhookId) -> Option<u64>;
    fn prune_deliveries(limits: OutboxLimits) -> u64;
});

hand_on!(ChangeStore {
    fn last_change() -> ChangeNumber;
    fn changes_after(after: ChangeNumber, limit: u32) -> ChangesPage;
    fn prune_changes(older_than: Duration, limit: u32) -> u64;
} {
    async fn changed_since(&self, seen: u64) -> u64 {
        self.inner.changed_since(seen).await
    }
});

#[async_trait]
impl Store for Watched {
    async fn ping(&self) -> StoreResult<()> {
        self.inner.ping().await
    }

    async fn watch_clock(&self) -> StoreResult<Option<Duration>> {
        self.inner.watch_clock().await
    }

    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn installation(&self) -> &str {
        self.inner.installation()
    }
}
