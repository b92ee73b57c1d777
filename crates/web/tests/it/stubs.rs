//! A store that fails in every way, and a network that is not there.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    Account, AccountId, Cursor, DeliveryId, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, EventId, Feed, FeedId,
    FeedPatch, FeedSeed, Folder, FolderId, IconId, Lease, NewFeed, SessionId, SubscriptionId, TokenId, WebhookId,
    account::{
        AccountPatch, Credentials, Login, NewAccount, NewSession, NewToken, PageSettings, PageSettingsPatch,
        READER_NAME, SecretHash, Session, Token,
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
        AccountOutcome, AccountStore, BatchResult, ChangeStore, Changed, Conflict, DeliveryStore, EntryStore,
        FeedStore, FigureStore, FolderStore, FollowOutcome, Http, HttpError, HttpRequest, HttpResponse, IconStore,
        ImportOutcome, MarkRead, NewFeedOutcome, PollStore, PruneLimits, PushStore, Store, StoreError, StoreResult,
        SubscriptionChange, TestOutcome, UpdateOutcome, Viewer,
    },
    push::{Offer, Push, PushStored, PushTarget, Subscription, SubscriptionJob},
};
use jiff::Timestamp;
use tokio::sync::Notify;

/// What such an error says inside, and must never say outside.
pub const INTERNALS: &str = "constraint feeds_url_key on host db-7";

/// How a store is down.
#[derive(Debug, Clone)]
pub enum Down {
    /// It cannot be reached.
    Unavailable,
    /// It fails for good.
    Failed,
    Panic,
    /// It never answers, and tells when it was asked.
    Hangs(Arc<Notify>),
    /// It says after so long that every token is that of this subscription, and answers nothing else.
    FindsTokens(Duration, Box<PushTarget>),
}

impl Down {
    async fn fail<T>(&self) -> StoreResult<T> {
        match self {
            Self::Unavailable => Err(StoreError::Unavailable(INTERNALS.to_owned())),
            Self::Failed => Err(StoreError::Failed(INTERNALS.to_owned())),
            Self::Panic => panic!("{INTERNALS}"),
            Self::Hangs(asked) => {
                asked.notify_one();
                std::future::pending().await
            }
            Self::FindsTokens(..) => std::future::pending().await,
        }
    }
}

/// A network that is not there.
#[derive(Debug)]
pub struct NoNetwork;

#[async_trait]
impl Http for NoNetwork {
    async fn send(&self, _: HttpRequest) -> Result<HttpResponse, HttpError> {
        Err(HttpError::NotFound("nowhere".to_owned()))
    }
}

/// Who asks is known all the same, without a login: what is asked for is what fails.
#[async_trait]
impl AccountStore for Down {
    async fn accounts(&self) -> StoreResult<Vec<Account>> {
        self.fail().await
    }

    async fn account(&self, id: AccountId) -> StoreResult<Option<Account>> {
        let (name, created_at) = (READER_NAME.to_owned(), Timestamp::UNIX_EPOCH);
        Ok(Some(Account { id, name, is_admin: true, has_password: false, created_at }))
    }

    async fn credentials(&self, _: &str) -> StoreResult<Option<Credentials>> {
        self.fail().await
    }

    async fn has_passwords(&self) -> StoreResult<bool> {
        Ok(false)
    }

    async fn create_account(&self, _: NewAccount) -> StoreResult<Result<Account, Conflict>> {
        self.fail().await
    }

    async fn update_account(&self, _: AccountId, _: AccountPatch) -> StoreResult<AccountOutcome> {
        self.fail().await
    }

    async fn page_settings(&self, _: AccountId) -> StoreResult<Option<PageSettings>> {
        self.fail().await
    }

    async fn patch_page_settings(&self, _: AccountId, _: PageSettingsPatch) -> StoreResult<Option<PageSettings>> {
        self.fail().await
    }

    async fn delete_account(&self, _: AccountId) -> StoreResult<AccountOutcome> {
        self.fail().await
    }

    async fn create_session(&self, _: &Credentials, _: NewSession) -> StoreResult<Option<Session>> {
        self.fail().await
    }

    async fn session(&self, _: SecretHash, _: Duration) -> StoreResult<Option<(Account, Session)>> {
        self.fail().await
    }

    async fn sessions(&self, _: AccountId, _: Duration) -> StoreResult<Vec<Session>> {
        self.fail().await
    }

    async fn delete_session(&self, _: AccountId, _: SessionId) -> StoreResult<bool> {
        self.fail().await
    }

    async fn create_token(&self, _: AccountId, _: NewToken) -> StoreResult<Token> {
        self.fail().await
    }

    async fn token(&self, _: SecretHash) -> StoreResult<Option<(Account, Token)>> {
        self.fail().await
    }

    async fn tokens(&self, _: AccountId) -> StoreResult<Vec<Token>> {
        self.fail().await
    }

    async fn delete_token(&self, _: AccountId, _: TokenId) -> StoreResult<bool> {
        self.fail().await
    }

    async fn live_logins(&self, _: &[Login], _: Duration) -> StoreResult<Vec<(Login, Account)>> {
        self.fail().await
    }

    async fn prune_accounts(&self, _: Duration, _: u32) -> StoreResult<u64> {
        self.fail().await
    }
}

#[async_trait]
impl FolderStore for Down {
    async fn folders(&self, _: AccountId) -> StoreResult<Vec<Folder>> {
        self.fail().await
    }

    async fn create_folder(&self, _: AccountId, _: &str) -> StoreResult<Result<Folder, Conflict>> {
        self.fail().await
    }

    async fn rename_folder(&self, _: AccountId, _: FolderId, _: &str) -> StoreResult<UpdateOutcome<Folder>> {
        self.fail().await
    }

    async fn delete_folder(&self, _: AccountId, _: FolderId) -> StoreResult<bool> {
        self.fail().await
    }

    async fn reorder_folders(&self, _: AccountId, _: &[FolderId]) -> StoreResult<Option<Vec<Folder>>> {
        self.fail().await
    }
}

#[async_trait]
impl FeedStore for Down {
    async fn feeds(&self, _: AccountId) -> StoreResult<Vec<Feed>> {
        self.fail().await
    }

    async fn feed(&self, _: AccountId, _: FeedId) -> StoreResult<Option<Feed>> {
        self.fail().await
    }

    async fn feed_by_url(&self, _: AccountId, _: &str) -> StoreResult<Option<FeedId>> {
        self.fail().await
    }

    async fn follow(&self, _: AccountId, _: NewFollow) -> StoreResult<FollowOutcome> {
        self.fail().await
    }

    async fn add_feed(&self, _: AccountId, _: NewFeed) -> StoreResult<NewFeedOutcome> {
        self.fail().await
    }

    async fn import_feeds(&self, _: AccountId, _: Vec<FeedSeed>) -> StoreResult<Vec<ImportOutcome>> {
        self.fail().await
    }

    async fn update_feed(&self, _: AccountId, _: FeedId, _: FeedPatch) -> StoreResult<UpdateOutcome<Feed>> {
        self.fail().await
    }

    async fn delete_feed(&self, _: AccountId, _: FeedId) -> StoreResult<bool> {
        self.fail().await
    }
}

#[async_trait]
impl IconStore for Down {
    async fn feed_icon(&self, _: AccountId, _: FeedId) -> StoreResult<Option<Icon>> {
        self.fail().await
    }

    async fn icon(&self, _: AccountId, _: IconId) -> StoreResult<Option<Icon>> {
        self.fail().await
    }

    async fn feed_icons(&self, _: AccountId) -> StoreResult<FeedIcons> {
        self.fail().await
    }

    async fn claim_due_icons(&self, _: u32, _: Duration) -> StoreResult<Vec<IconJob>> {
        self.fail().await
    }

    async fn finish_icon(&self, _: &IconJob, _: IconLook) -> StoreResult<()> {
        self.fail().await
    }

    async fn next_icon_in(&self) -> StoreResult<Option<Duration>> {
        self.fail().await
    }

    async fn prune_icons(&self, _: u32) -> StoreResult<u64> {
        self.fail().await
    }
}

#[async_trait]
impl EntryStore for Down {
    async fn entries(&self, _: AccountId, _: &EntryFilter, _: u32, _: Option<Cursor>) -> StoreResult<EntryPage> {
        self.fail().await
    }

    async fn entry_ids(&self, _: AccountId, _: &EntryFilter, _: u32, _: Option<Cursor>) -> StoreResult<EntryIdPage> {
        self.fail().await
    }

    async fn entry(&self, _: AccountId, _: EntryId) -> StoreResult<Option<Entry>> {
        self.fail().await
    }

    async fn find_entries(&self, _: AccountId, _: &EntryQuery, _: u32, _: u32) -> StoreResult<Vec<EntryId>> {
        self.fail().await
    }

    async fn count_entries(&self, _: AccountId, _: &EntryQuery) -> StoreResult<u64> {
        self.fail().await
    }

    async fn changed_at(&self, _: AccountId, _: &[EntryId]) -> StoreResult<Vec<(EntryId, Timestamp)>> {
        self.fail().await
    }

    async fn feed_counters(&self, _: AccountId) -> StoreResult<Vec<FeedCounter>> {
        self.fail().await
    }

    async fn patch_entry(&self, _: AccountId, _: EntryId, _: EntryPatch) -> StoreResult<Option<Entry>> {
        self.fail().await
    }

    async fn patch_entries(&self, _: AccountId, _: &[EntryId], _: EntryPatch) -> StoreResult<u64> {
        self.fail().await
    }

    async fn toggle_star(&self, _: AccountId, _: EntryId) -> StoreResult<Option<bool>> {
        self.fail().await
    }

    async fn mark_read(&self, _: AccountId, _: MarkRead) -> StoreResult<u64> {
        self.fail().await
    }

    async fn counts(&self, _: AccountId) -> StoreResult<Counts> {
        self.fail().await
    }

    async fn counts_of(&self, _: &[AccountId], _: Option<&[FeedId]>) -> StoreResult<Vec<AccountCounts>> {
        self.fail().await
    }

    async fn newest_unread(&self, _: AccountId) -> StoreResult<Vec<(FeedId, Timestamp)>> {
        self.fail().await
    }
}

#[async_trait]
impl PollStore for Down {
    async fn claim_due_polls(&self, _: &str, _: u32, _: Duration) -> StoreResult<Vec<PollJob>> {
        self.fail().await
    }

    async fn claim_polls(&self, _: &str, _: &[FeedId], _: Duration) -> StoreResult<Vec<PollJob>> {
        self.fail().await
    }

    async fn renew_polls(&self, _: &[(FeedId, Lease)], _: Duration) -> StoreResult<Vec<FeedId>> {
        self.fail().await
    }

    async fn release_polls(&self, _: &[(FeedId, Lease)]) -> StoreResult<()> {
        self.fail().await
    }

    async fn postpone_polls(&self, _: &[(FeedId, Lease)], _: Duration) -> StoreResult<()> {
        self.fail().await
    }

    async fn known_entries(&self, _: FeedId, _: &[Hash]) -> StoreResult<KnownEntries> {
        self.fail().await
    }

    async fn finish_polls(&self, _: Vec<PollResult>) -> StoreResult<Vec<StoreResult<Stored>>> {
        self.fail().await
    }

    async fn next_poll_in(&self) -> StoreResult<Option<Duration>> {
        self.fail().await
    }

    async fn due_polls(&self, _: u32) -> StoreResult<Vec<FeedId>> {
        self.fail().await
    }

    async fn polled_feed(&self, _: FeedId) -> StoreResult<Option<Feed>> {
        self.fail().await
    }

    async fn feed_overview(&self) -> StoreResult<domain::overview::FeedOverview> {
        self.fail().await
    }

    async fn prune_entries(&self, _: PruneLimits) -> StoreResult<u64> {
        self.fail().await
    }
}

#[async_trait]
impl PushStore for Down {
    async fn subscriptions(&self, _: Viewer) -> StoreResult<Vec<Subscription>> {
        self.fail().await
    }
    async fn subscription(&self, _: SubscriptionId) -> StoreResult<Option<Subscription>> {
        self.fail().await
    }
    async fn subscription_of(&self, _: FeedId) -> StoreResult<Option<Subscription>> {
        self.fail().await
    }
    async fn targets_by_token(&self, tokens: Vec<String>) -> StoreResult<Vec<StoreResult<Option<PushTarget>>>> {
        if let Self::FindsTokens(after, target) = self {
            tokio::time::sleep(*after).await;
            return Ok(tokens.iter().map(|_| Ok(Some((**target).clone()))).collect());
        }
        self.fail().await
    }
    async fn push_targets(&self, _: &str, _: u32) -> StoreResult<Vec<PushTarget>> {
        self.fail().await
    }
    async fn feeds_to_subscribe(&self, _: &str, _: FeedId, _: u32) -> StoreResult<Vec<FeedId>> {
        self.fail().await
    }
    async fn subscribe(&self, _: Vec<(FeedId, Offer)>) -> StoreResult<u32> {
        self.fail().await
    }
    async fn stop_push(&self) -> StoreResult<u32> {
        self.fail().await
    }
    async fn change_subscriptions(&self, _: Vec<SubscriptionChange>) -> BatchResult<SubscriptionChange, Changed> {
        self.fail().await
    }
    async fn claim_due_subscriptions(
        &self,
        _: &str,
        _: u32,
        _: Duration,
        _: &[String],
    ) -> StoreResult<Vec<SubscriptionJob>> {
        self.fail().await
    }
    async fn claim_expiring_subscriptions(
        &self,
        _: &str,
        _: u32,
        _: Duration,
        _: Duration,
    ) -> StoreResult<Vec<SubscriptionJob>> {
        self.fail().await
    }
    async fn release_subscriptions(&self, _: &[(SubscriptionId, Lease)]) -> StoreResult<()> {
        self.fail().await
    }
    async fn next_step_in(&self) -> StoreResult<Option<Duration>> {
        self.fail().await
    }
    async fn push_all(&self, _: Vec<Push>) -> BatchResult<Push, PushStored> {
        self.fail().await
    }
    async fn poll_soon(&self, _: FeedId, _: Duration) -> StoreResult<()> {
        self.fail().await
    }
}

#[async_trait]
impl DeliveryStore for Down {
    async fn webhooks(&self, _: AccountId) -> StoreResult<Vec<Webhook>> {
        self.fail().await
    }

    async fn webhook(&self, _: AccountId, _: WebhookId) -> StoreResult<Option<Webhook>> {
        self.fail().await
    }

    async fn receiver(&self, _: WebhookId) -> StoreResult<Option<Webhook>> {
        self.fail().await
    }

    async fn create_webhook(&self, _: AccountId, _: NewWebhook) -> StoreResult<Webhook> {
        self.fail().await
    }

    async fn update_webhook(&self, _: AccountId, _: WebhookId, _: WebhookPatch) -> StoreResult<Option<Webhook>> {
        self.fail().await
    }

    async fn delete_webhook(&self, _: AccountId, _: WebhookId) -> StoreResult<bool> {
        self.fail().await
    }

    async fn rotate_secret(
        &self,
        _: AccountId,
        _: WebhookId,
        _: WebhookSecret,
        _: Duration,
    ) -> StoreResult<Option<Webhook>> {
        self.fail().await
    }

    async fn test_webhook(&self, _: AccountId, _: WebhookId) -> StoreResult<TestOutcome> {
        self.fail().await
    }

    async fn replay(&self, _: AccountId, _: WebhookId, _: Timestamp, _: Option<Timestamp>) -> StoreResult<Option<u64>> {
        self.fail().await
    }

    async fn claim_deliveries(&self, _: &str, _: Duration, _: &ClaimLimits) -> StoreResult<Claimed> {
        self.fail().await
    }

    async fn event_data(&self, _: EventId) -> StoreResult<Option<String>> {
        self.fail().await
    }

    async fn renew_deliveries(&self, _: &[(DeliveryId, Lease)], _: Duration) -> StoreResult<Vec<DeliveryId>> {
        self.fail().await
    }

    async fn release_deliveries(&self, _: &[(DeliveryId, Lease)]) -> StoreResult<()> {
        self.fail().await
    }

    async fn finish_deliveries(&self, _: Vec<AttemptOutcome>, _: &BreakerRules) -> StoreResult<FinishReport> {
        self.fail().await
    }

    async fn next_delivery_in(&self, _: &[WebhookId]) -> StoreResult<Option<Duration>> {
        self.fail().await
    }

    async fn outbox_overview(&self, _: Viewer) -> StoreResult<Overview> {
        self.fail().await
    }

    async fn deliveries(&self, _: AccountId, _: DeliveryFilter, _: u32, _: Option<&str>) -> StoreResult<DeliveryPage> {
        self.fail().await
    }

    async fn delivery(&self, _: AccountId, _: &str) -> StoreResult<Option<(Delivery, Vec<Attempt>)>> {
        self.fail().await
    }

    async fn requeue_delivery(&self, _: AccountId, _: &str) -> StoreResult<Moved> {
        self.fail().await
    }

    async fn cancel_delivery(&self, _: AccountId, _: &str, _: &str) -> StoreResult<Moved> {
        self.fail().await
    }

    async fn requeue_failed(&self, _: AccountId, _: WebhookId) -> StoreResult<Option<u64>> {
        self.fail().await
    }

    async fn prune_deliveries(&self, _: OutboxLimits) -> StoreResult<u64> {
        self.fail().await
    }
}

#[async_trait]
impl ChangeStore for Down {
    async fn last_change(&self) -> StoreResult<ChangeNumber> {
        self.fail().await
    }

    async fn changes_after(&self, _: ChangeNumber, _: u32) -> StoreResult<ChangesPage> {
        self.fail().await
    }

    async fn changed_since(&self, _: u64) -> u64 {
        std::future::pending().await
    }

    async fn prune_changes(&self, _: Duration, _: u32) -> StoreResult<u64> {
        self.fail().await
    }
}

#[async_trait]
impl FigureStore for Down {
    async fn figures(&self, _: Viewer, _: FigureQuery) -> StoreResult<Vec<Point>> {
        self.fail().await
    }

    async fn prune_figures(&self, _: u32) -> StoreResult<u64> {
        self.fail().await
    }
}

#[async_trait]
impl Store for Down {
    async fn ping(&self) -> StoreResult<()> {
        self.fail().await
    }

    async fn watch_clock(&self) -> StoreResult<Option<Duration>> {
        self.fail().await
    }

    fn kind(&self) -> &'static str {
        "none"
    }

    fn installation(&self) -> &'static str {
        "0123456789ab"
    }

    fn picture_key(&self) -> &'static str {
        "0123456789abcdef"
    }
}
