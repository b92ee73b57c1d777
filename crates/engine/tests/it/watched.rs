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
    Account, AccountId, Cursor, DeliveryId, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, EventId, Feed, FeedId,
    FeedPatch, FeedSeed, Folder, FolderId, IconId, Lease, NewFeed, SessionId, SubscriptionId, TokenId, WebhookId,
    account::{
        AccountPatch, Credentials, Login, NewAccount, NewSession, NewToken, PageSettings, PageSettingsPatch,
        SecretHash, Session, Token,
    },
    changes::{ChangeNumber, ChangesPage},
    delivery::{
        Attempt, AttemptOutcome, BreakerRules, ClaimLimits, Claimed, Delivery, DeliveryFilter, DeliveryPage,
        FinishReport, Moved, NewWebhook, OutboxLimits, Overview, Webhook, WebhookPatch, WebhookSecret,
    },
    entry::{AccountCounts, Counts, EntryIdPage},
    entry_query::{EntryQuery, FeedCounter},
    figures::{FigureQuery, Point},
    follow::NewFollow,
    icon::{FeedIcons, Icon, IconJob, IconLook},
    ingest::{Hash, KnownEntries, PollJob, PollResult, Stored},
    ports::{
        AccountOutcome, AccountStore, Batched, ChangeStore, Changed, Claim, Conflict, DeliveryStore, EntryStore,
        FeedStore, FigureStore, FolderStore, FollowOutcome, IconStore, ImportOutcome, MarkRead, NewFeedOutcome,
        PollStore, PruneLimits, PushStore, Store, StoreResult, SubscriptionChange, TestOutcome, UpdateOutcome, Viewer,
    },
    push::{Offer, Push, PushStored, PushTarget, RenewalRules, Subscription, SubscriptionEvent, SubscriptionJob},
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

hand_on!(AccountStore {
    fn accounts() -> Vec<Account>;
    fn account(id: AccountId) -> Option<Account>;
    fn credentials(name: &str) -> Option<Credentials>;
    fn has_passwords() -> bool;
    fn create_account(new: NewAccount) -> Result<Account, Conflict>;
    fn update_account(id: AccountId, patch: AccountPatch) -> AccountOutcome;
    fn page_settings(id: AccountId) -> Option<PageSettings>;
    fn patch_page_settings(id: AccountId, patch: PageSettingsPatch) -> Option<PageSettings>;
    fn delete_account(id: AccountId) -> AccountOutcome;
    fn create_session(checked: &Credentials, new: NewSession) -> Option<Session>;
    fn session(secret: SecretHash, lifetime: Duration) -> Option<(Account, Session)>;
    fn sessions(account: AccountId, lifetime: Duration) -> Vec<Session>;
    fn delete_session(account: AccountId, id: SessionId) -> bool;
    fn create_token(account: AccountId, new: NewToken) -> Token;
    fn token(secret: SecretHash) -> Option<(Account, Token)>;
    fn tokens(account: AccountId) -> Vec<Token>;
    fn delete_token(account: AccountId, id: TokenId) -> bool;
    fn live_logins(logins: &[Login], session_lifetime: Duration) -> Vec<(Login, Account)>;
    fn prune_accounts(session_lifetime: Duration, limit: u32) -> u64;
});

hand_on!(FolderStore {
    fn folders(account: AccountId) -> Vec<Folder>;
    fn create_folder(account: AccountId, name: &str) -> Result<Folder, Conflict>;
    fn rename_folder(account: AccountId, id: FolderId, name: &str) -> UpdateOutcome<Folder>;
    fn delete_folder(account: AccountId, id: FolderId) -> bool;
    fn reorder_folders(account: AccountId, ids: &[FolderId]) -> Option<Vec<Folder>>;
});

hand_on!(FeedStore {
    fn feeds(account: AccountId) -> Vec<Feed>;
    fn feed(account: AccountId, id: FeedId) -> Option<Feed>;
    fn feed_by_url(account: AccountId, url: &str) -> Option<FeedId>;
    fn follow(account: AccountId, new: NewFollow) -> FollowOutcome;
    fn add_feed(account: AccountId, feed: NewFeed) -> NewFeedOutcome;
    fn import_feeds(account: AccountId, feeds: Vec<FeedSeed>) -> Vec<ImportOutcome>;
    fn update_feed(account: AccountId, id: FeedId, patch: FeedPatch) -> UpdateOutcome<Feed>;
    fn delete_feed(account: AccountId, id: FeedId) -> bool;
});

hand_on!(IconStore {
    fn feed_icon(account: AccountId, feed: FeedId) -> Option<Icon>;
    fn icon(account: AccountId, id: IconId) -> Option<Icon>;
    fn feed_icons(account: AccountId) -> FeedIcons;
    fn claim_due_icons(limit: u32, lease: Duration) -> Vec<IconJob>;
    fn finish_icon(job: &IconJob, look: IconLook) -> ();
    fn next_icon_in() -> Option<Duration>;
    fn prune_icons(limit: u32) -> u64;
});

hand_on!(EntryStore {
    fn toggle_star(account: AccountId, id: EntryId) -> Option<bool>;
    fn entries(account: AccountId, filter: &EntryFilter, limit: u32, after: Option<Cursor>) -> EntryPage;
    fn entry_ids(account: AccountId, filter: &EntryFilter, limit: u32, after: Option<Cursor>) -> EntryIdPage;
    fn entry(account: AccountId, id: EntryId) -> Option<Entry>;
    fn find_entries(account: AccountId, query: &EntryQuery, offset: u32, limit: u32) -> Vec<EntryId>;
    fn count_entries(account: AccountId, query: &EntryQuery) -> u64;
    fn changed_at(account: AccountId, ids: &[EntryId]) -> Vec<(EntryId, Timestamp)>;
    fn feed_counters(account: AccountId) -> Vec<FeedCounter>;
    fn patch_entry(account: AccountId, id: EntryId, patch: EntryPatch) -> Option<Entry>;
    fn patch_entries(account: AccountId, ids: &[EntryId], patch: EntryPatch) -> u64;
    fn mark_read(account: AccountId, which: MarkRead) -> u64;
    fn counts(account: AccountId) -> Counts;
    fn counts_of(accounts: &[AccountId], feeds: Option<&[FeedId]>) -> Vec<AccountCounts>;
    fn newest_unread(account: AccountId) -> Vec<(FeedId, Timestamp)>;
});

hand_on!(PollStore {
    fn claim_due_polls(owner: &str, limit: u32, lease: Duration) -> Vec<PollJob>;
    fn claim_polls(owner: &str, feeds: &[FeedId], lease: Duration) -> Vec<PollJob>;
    fn release_polls(leases: &[(FeedId, Lease)]) -> ();
    fn postpone_polls(leases: &[(FeedId, Lease)], delay: Duration) -> ();
    fn known_entries(feed: FeedId, identities: &[Hash]) -> KnownEntries;
    fn finish_polls(results: Vec<PollResult>) -> Vec<StoreResult<Stored>>;
    fn next_poll_in() -> Option<Duration>;
    fn due_polls(limit: u32) -> Vec<FeedId>;
    fn polled_feed(id: FeedId) -> Option<Feed>;
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
    fn subscriptions(viewer: Viewer) -> Vec<Subscription>;
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
    fn change_subscription(id: SubscriptionId, claim: Claim, event: SubscriptionEvent, rules: RenewalRules) -> Changed;
    fn claim_due_subscriptions(owner: &str, limit: u32, lease: Duration, but_not_at: &[String]) -> Vec<SubscriptionJob>;
    fn claim_expiring_subscriptions(owner: &str, limit: u32, lease: Duration, within: Duration) -> Vec<SubscriptionJob>;
    fn release_subscriptions(leases: &[(SubscriptionId, Lease)]) -> ();
    fn next_step_in() -> Option<Duration>;
    fn push_all(pushes: Vec<Push>) -> Vec<StoreResult<Batched<Push, PushStored>>>;
    fn push(push: Push) -> PushStored;
    fn poll_soon(feed: FeedId, delay: Duration) -> ();
});

hand_on!(DeliveryStore {
    fn webhooks(account: AccountId) -> Vec<Webhook>;
    fn webhook(account: AccountId, id: WebhookId) -> Option<Webhook>;
    fn receiver(id: WebhookId) -> Option<Webhook>;
    fn create_webhook(account: AccountId, new: NewWebhook) -> Webhook;
    fn update_webhook(account: AccountId, id: WebhookId, patch: WebhookPatch) -> Option<Webhook>;
    fn delete_webhook(account: AccountId, id: WebhookId) -> bool;
    fn rotate_secret(account: AccountId, id: WebhookId, secret: WebhookSecret, keep: Duration) -> Option<Webhook>;
    fn test_webhook(account: AccountId, id: WebhookId) -> TestOutcome;
    fn replay(account: AccountId, id: WebhookId, since: Timestamp, until: Option<Timestamp>) -> Option<u64>;
    fn claim_deliveries(owner: &str, lease: Duration, limits: &ClaimLimits) -> Claimed;
    fn event_data(event: EventId) -> Option<String>;
    fn renew_deliveries(leases: &[(DeliveryId, Lease)], lease: Duration) -> Vec<DeliveryId>;
    fn release_deliveries(leases: &[(DeliveryId, Lease)]) -> ();
    fn finish_deliveries(finished: Vec<AttemptOutcome>, rules: &BreakerRules) -> FinishReport;
    fn next_delivery_in(but_not_to: &[WebhookId]) -> Option<Duration>;
    fn outbox_overview(viewer: Viewer) -> Overview;
    fn deliveries(account: AccountId, filter: DeliveryFilter, limit: u32, after: Option<&str>) -> DeliveryPage;
    fn delivery(account: AccountId, id: &str) -> Option<(Delivery, Vec<Attempt>)>;
    fn requeue_delivery(account: AccountId, id: &str) -> Moved;
    fn cancel_delivery(account: AccountId, id: &str, reason: &str) -> Moved;
    fn requeue_failed(account: AccountId, webhook: WebhookId) -> Option<u64>;
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

hand_on!(FigureStore {
    fn figures(viewer: Viewer, wanted: FigureQuery) -> Vec<Point>;
    fn prune_figures(limit: u32) -> u64;
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

    fn picture_key(&self) -> &str {
        self.inner.picture_key()
    }
}
