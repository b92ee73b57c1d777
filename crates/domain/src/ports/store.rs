//! The store, as whole use cases: each method is one transaction, and the transaction stays inside the adapter.
//!
//! All times are the store's: the injected clock's on SQLite, the database's on PostgreSQL, so that nodes whose clocks
//! differ agree. Callers pass delays, never instants. Adapters decide nothing that is not said here.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{AccountStore, ChangeStore, DeliveryStore, FigureStore, IconStore};
use crate::{
    cursor::Cursor,
    entry::{AccountCounts, Counts, Entry, EntryFilter, EntryIdPage, EntryPage, EntryPatch},
    entry_query::{EntryQuery, FeedCounter},
    feed_state::{Feed, FeedPatch, FeedSeed, NewFeed},
    folder::Folder,
    follow::NewFollow,
    ids::{AccountId, EntryId, FeedId, FolderId, SubscriptionId},
    ingest::{Hash, KnownEntries, PollJob, PollResult, Stored},
    lease::Lease,
    overview::FeedOverview,
    push::{
        Offer, Push, PushStored, PushTarget, RenewalRules, Subscription, SubscriptionEvent, SubscriptionJob, Transition,
    },
};

/// Why the store did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached or cannot write now: nothing was changed, and trying again later may succeed.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// A statement failed in a way that trying again will not mend. Nothing was changed.
    #[error("the store failed: {0}")]
    Failed(String),
}

/// What a use case returns.
pub type StoreResult<T> = Result<T, StoreError>;

/// A name or an address that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict;

/// Whose things are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// What concerns the feeds that it follows, and its webhooks.
    Account(AccountId),
    /// All there is, for administrators and for the program itself.
    Server,
}

impl Viewer {
    /// Whose, if they are one account's.
    pub fn account(self) -> Option<AccountId> {
        match self {
            Self::Account(account) => Some(account),
            Self::Server => None,
        }
    }
}

/// What became of a feed that an account is to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewFeedOutcome {
    Added(Box<Feed>),
    /// The account follows one with this URL.
    AlreadyThere(FeedId),
    /// The account has no such folder. Nothing was kept.
    NoSuchFolder,
}

/// What became of a request to follow what the server may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowOutcome {
    Followed(Box<Feed>),
    /// The account follows it.
    AlreadyThere(FeedId),
    /// The server has no such feed, it is somebody's own, or it was only imported yet: it has to be fetched.
    NotKnown,
    /// The account has no such folder. Nothing was kept.
    NoSuchFolder,
}

/// What became of an import, feed by feed, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The account follows it, and it will be polled, unless the server has it already.
    Imported(FeedId),
    /// The account follows one with this URL.
    AlreadyThere(FeedId),
}

impl ImportOutcome {
    pub fn feed_id(self) -> FeedId {
        match self {
            Self::Imported(id) | Self::AlreadyThere(id) => id,
        }
    }
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateOutcome<T> {
    /// Done: this is how it is now.
    Updated(Box<T>),
    /// There is no such thing.
    NotFound,
    /// There is no such folder. Nothing was changed.
    NoSuchFolder,
    /// Another has this name or URL already. Nothing was changed.
    Conflict(Option<FeedId>),
}

/// Which entries to mark as read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MarkRead {
    /// Only of this feed.
    pub feed_id: Option<FeedId>,
    /// Only of the feeds in this folder.
    pub folder_id: Option<FolderId>,
    /// Only those received (first seen) at this time or before.
    pub before: Option<Timestamp>,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneLimits {
    /// Read entries received longer ago than this go.
    pub read_older_than: Duration,
    /// Unread entries received longer ago than this go; none do without it.
    pub unread_older_than: Option<Duration>,
    /// Read entries beyond the newest so many of a feed go.
    pub per_feed: u32,
    /// At most so many go in one call.
    pub chunk: u32,
}

/// What a change of a subscription has to do with a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nothing: it comes from outside, whoever has claimed the subscription.
    None,
    /// It counts only under this lease, which goes on.
    Under(Lease),
    /// It counts only under this lease, which ends with it.
    Ends(Lease),
}

/// Something that happens to a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionChange {
    pub id: SubscriptionId,
    pub claim: Claim,
    pub event: SubscriptionEvent,
    pub rules: RenewalRules,
}

/// What became of one job of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Batched<J, A> {
    /// It is done, and committed.
    Done(A),
    /// Nothing was done: another transaction holds what it needs, and a batch does not wait for that.
    Locked(J),
}

/// What became of each job of a batch, in the order given.
pub type BatchResult<J, A> = StoreResult<Vec<StoreResult<Batched<J, A>>>>;

/// What became of a change of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    Done(Box<Transition>),
    /// The subscription does not take such an event as it stands. Nothing was changed.
    Refused,
    /// There is no such subscription, or the lease is another's. Nothing was changed.
    NotFound,
}

/// The folders of an account.
#[async_trait]
pub trait FolderStore {
    /// All folders in their order.
    async fn folders(&self, account: AccountId) -> StoreResult<Vec<Folder>>;
    /// Makes a folder, last in the order.
    async fn create_folder(&self, account: AccountId, name: &str) -> StoreResult<Result<Folder, Conflict>>;
    /// Gives a folder another name.
    async fn rename_folder(&self, account: AccountId, id: FolderId, name: &str) -> StoreResult<UpdateOutcome<Folder>>;
    /// Removes a folder; its feeds stay, in none. False if there is none.
    async fn delete_folder(&self, account: AccountId, id: FolderId) -> StoreResult<bool>;
    /// Puts folders in this order; those not named follow in the order they had. `None`, and nothing changed, if one of
    /// them does not exist or is named twice.
    async fn reorder_folders(&self, account: AccountId, ids: &[FolderId]) -> StoreResult<Option<Vec<Folder>>>;
}

/// The feeds that an account follows, each with the account's own folder, title and settings. A feed that several follow is
/// stored, polled and pushed once: the shortest interval that any follower asks for counts, and it is pushed if any wants it.
#[async_trait]
pub trait FeedStore {
    /// All feeds that it follows, by title (the account's before the feed's own, before the URL), without regard to case.
    async fn feeds(&self, account: AccountId) -> StoreResult<Vec<Feed>>;
    /// A feed that it follows.
    async fn feed(&self, account: AccountId, id: FeedId) -> StoreResult<Option<Feed>>;
    /// The feed with this URL that it follows.
    async fn feed_by_url(&self, account: AccountId, url: &str) -> StoreResult<Option<FeedId>>;
    /// Follows a feed that the server has, without a request: the entries of its last document, and what was pushed since,
    /// are there unread, older ones read. A feed with a user and password is never shared.
    async fn follow(&self, account: AccountId, new: NewFollow) -> StoreResult<FollowOutcome>;
    /// Keeps a feed that was just fetched, with its entries, and follows it, in one transaction. One that the server has
    /// meanwhile is followed as it is; of one that was only imported this is the first document, for all who follow it.
    async fn add_feed(&self, account: AccountId, feed: NewFeed) -> StoreResult<NewFeedOutcome>;
    /// Follows many feeds, in one transaction; those that the server has not are kept, not fetched yet and due at once.
    /// Folders are made as needed. Until then they have the title and the site that are given, for this account alone: they
    /// are forgotten when another follows, or with the first document.
    async fn import_feeds(&self, account: AccountId, feeds: Vec<FeedSeed>) -> StoreResult<Vec<ImportOutcome>>;
    /// Changes what the account wants of a feed that it follows. Another URL, where nobody else follows it, is the same feed
    /// at another address: it forgets validators, failures, hubs and `isGone`, and is due at once. Where others do, or the
    /// server has a feed at that address, the account leaves the one and follows the other, in the same folder and under the
    /// same name; it is another feed then, with another id. With another URL, or when nobody wants push any more, its
    /// subscriptions are no longer wanted. (Push that is turned on is [`subscribe`](PushStore::subscribe)'s.)
    async fn update_feed(&self, account: AccountId, id: FeedId, patch: FeedPatch) -> StoreResult<UpdateOutcome<Feed>>;
    /// Stops following a feed: what the account marked in it is forgotten. With its last follower a feed goes, and its
    /// entries; its subscriptions live on without it, no longer wanted. False if the account does not follow it.
    async fn delete_feed(&self, account: AccountId, id: FeedId) -> StoreResult<bool>;
}

/// The entries of the feeds that an account follows, with its own marks.
#[async_trait]
pub trait EntryStore {
    /// A page of entries by `sortAt` and then id, after the cursor, in the filter's order. It ends at so many entries, or
    /// at [`PAGE_TEXT_BYTES_MAX`](crate::entry::PAGE_TEXT_BYTES_MAX) of text, and no more than that is ever read.
    async fn entries(
        &self,
        account: AccountId,
        filter: &EntryFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> StoreResult<EntryPage>;
    /// The ids of the same page. Where the filter is a [walk](EntryFilter::is_walk) nothing but its index is read: up to
    /// [`PAGE_IDS_MAX`](crate::entry::PAGE_IDS_MAX) of them cost little.
    async fn entry_ids(
        &self,
        account: AccountId,
        filter: &EntryFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> StoreResult<EntryIdPage>;
    async fn entry(&self, account: AccountId, id: EntryId) -> StoreResult<Option<Entry>>;
    /// The ids of the entries that a program of another reader asks for, so many after so many, in its order. No texts are
    /// read.
    async fn find_entries(
        &self,
        account: AccountId,
        query: &EntryQuery,
        offset: u32,
        limit: u32,
    ) -> StoreResult<Vec<EntryId>>;
    /// How many there are, counted up to [`TOTAL_MAX`](crate::entry_query::TOTAL_MAX): for what no count is kept of.
    async fn count_entries(&self, account: AccountId, query: &EntryQuery) -> StoreResult<u64>;
    /// When anything that the account sees of these entries last changed, in no order. Those that it has not are not in the
    /// answer.
    async fn changed_at(&self, account: AccountId, ids: &[EntryId]) -> StoreResult<Vec<(EntryId, Timestamp)>>;
    /// What is kept of each feed that the account follows, by feed.
    async fn feed_counters(&self, account: AccountId) -> StoreResult<Vec<FeedCounter>>;
    /// Marks an entry; `None` if there is none.
    async fn patch_entry(&self, account: AccountId, id: EntryId, patch: EntryPatch) -> StoreResult<Option<Entry>>;
    /// Marks these entries in one transaction; returns how many that changed. Those that do not exist are passed over.
    async fn patch_entries(&self, account: AccountId, ids: &[EntryId], patch: EntryPatch) -> StoreResult<u64>;
    /// Stars an entry that is not, and takes the star off one that is, as it stands when it is written: two at once change
    /// it twice. Whether it is starred now; `None` if there is none.
    async fn toggle_star(&self, account: AccountId, id: EntryId) -> StoreResult<Option<bool>>;
    /// Marks entries as read, in chunks; returns how many were not.
    async fn mark_read(&self, account: AccountId, which: MarkRead) -> StoreResult<u64>;
    /// Unread and starred entries, without counting them one by one.
    async fn counts(&self, account: AccountId) -> StoreResult<Counts>;
    /// The same of several accounts at once, as they are kept, by account and feed: of these feeds, or of all that they
    /// follow. Accounts that are not there are not in the answer.
    async fn counts_of(&self, accounts: &[AccountId], feeds: Option<&[FeedId]>) -> StoreResult<Vec<AccountCounts>>;
    /// When the account got the last unread entry of each feed that has one, by feed: one look at an index for each.
    async fn newest_unread(&self, account: AccountId) -> StoreResult<Vec<(FeedId, Timestamp)>>;
}

/// Polling, and what it brings.
#[async_trait]
pub trait PollStore {
    /// Claims feeds that are due (`nextCheckAt <= now`, not gone, no lease or a past one), longest due first. Two
    /// workers never hold the same feed.
    async fn claim_due_polls(&self, owner: &str, limit: u32, lease: Duration) -> StoreResult<Vec<PollJob>>;
    /// Claims these feeds, due or not, gone or not. Those that another holds, or that do not exist, are not in the
    /// answer.
    async fn claim_polls(&self, owner: &str, feeds: &[FeedId], lease: Duration) -> StoreResult<Vec<PollJob>>;
    /// Prolongs leases that are still held (row, owner, fence); returns the feeds whose lease is lost.
    async fn renew_polls(&self, leases: &[(FeedId, Lease)], lease: Duration) -> StoreResult<Vec<FeedId>>;
    /// Releases claims: the feeds are as they were before.
    async fn release_polls(&self, leases: &[(FeedId, Lease)]) -> StoreResult<()>;
    /// Releases claims (row, owner, fence) of feeds that must wait: each is due after this delay, or when it would have
    /// been, whichever is later. Nothing else about them changes.
    async fn postpone_polls(&self, leases: &[(FeedId, Lease)], delay: Duration) -> StoreResult<()>;
    /// All entries of a feed that have these identities, also those that were pruned and are remembered. Identities that
    /// are not known are not in the answer.
    async fn known_entries(&self, feed: FeedId, identities: &[Hash]) -> StoreResult<KnownEntries>;
    /// Stores how polls ended, each guarded by its lease, and ends the leases. In the order given: for each the
    /// entries, the validators, the feed's state and what it says about push, all or nothing. One result that cannot be
    /// stored does not lose the others.
    ///
    /// A feed that a hub is trusted to push is due again after `next_audit_in`, and new entries in it may be a miss
    /// ([`push::missed`](crate::push::missed)). A feed that was made due while it was being polled stays so.
    async fn finish_polls(&self, results: Vec<PollResult>) -> StoreResult<Vec<StoreResult<Stored>>>;
    /// When the next feed will be due, as a delay from now; `None` if no feed is polled.
    async fn next_poll_in(&self) -> StoreResult<Option<Duration>>;
    /// Feeds that are due now, whoever polls them, longest due first, at most so many.
    async fn due_polls(&self, limit: u32) -> StoreResult<Vec<FeedId>>;
    /// A feed as the server has it, whoever follows it: when it is to be polled and how it stands.
    async fn polled_feed(&self, id: FeedId) -> StoreResult<Option<Feed>>;
    /// How feeds and subscriptions stand, counted along indexes.
    async fn feed_overview(&self) -> StoreResult<FeedOverview>;
    /// Removes what accounts have of entries that are too old, and of read ones that are too many, never starred ones, one
    /// chunk; returns how many. With the last that somebody has of an entry it goes; its identity is kept until a complete
    /// poll no longer holds it.
    async fn prune_entries(&self, limits: PruneLimits) -> StoreResult<u64>;
}

/// Push: subscriptions, and what hubs bring.
///
/// What becomes of a subscription is decided by [`push::apply`](crate::push::apply) and
/// [`push::reconcile`](crate::push::reconcile), called inside the transaction that stores it. With every change the
/// feed's `is_pushed` is kept equal to its current subscription's [`is_trusted`](Subscription::is_trusted), and where
/// the decision says so the feed is made due at once, even if it is being polled just now.
#[async_trait]
pub trait PushStore: Sync {
    /// Subscriptions, by feed and then by id: those of the feeds that an account follows, or all, those without a feed last.
    async fn subscriptions(&self, viewer: Viewer) -> StoreResult<Vec<Subscription>>;
    async fn subscription(&self, id: SubscriptionId) -> StoreResult<Option<Subscription>>;
    /// The current subscription of a feed.
    async fn subscription_of(&self, feed: FeedId) -> StoreResult<Option<Subscription>>;
    /// The subscriptions with these tokens, in the order given. One that cannot be read does not lose the others.
    async fn targets_by_token(&self, tokens: Vec<String>) -> StoreResult<Vec<StoreResult<Option<PushTarget>>>>;
    /// The subscription with this token.
    async fn push_target(&self, token: &str) -> StoreResult<Option<PushTarget>> {
        self.targets_by_token(vec![token.to_owned()]).await?.pop().unwrap_or_else(|| Err(unanswered()))
    }
    /// The subscriptions with this topic, at most so many: the newest first.
    async fn push_targets(&self, topic: &str, limit: u32) -> StoreResult<Vec<PushTarget>>;
    /// Feeds after this one, by id, that have a hub and that a follower wants pushed, but have no current subscription for this base URL.
    async fn feeds_to_subscribe(&self, base_url: &str, after: FeedId, limit: u32) -> StoreResult<Vec<FeedId>>;
    /// Compares what these feeds want with the subscriptions they have, and makes, changes and ends subscriptions
    /// accordingly. Feeds that do not exist are passed over. Returns how many feeds were affected.
    async fn subscribe(&self, requests: Vec<(FeedId, Offer)>) -> StoreResult<u32>;
    /// Push is off: no subscription is wanted any more. Returns how many there were.
    async fn stop_push(&self) -> StoreResult<u32>;
    /// Something happens to subscriptions: as many as can be in one transaction, in the order given. One change that cannot
    /// be stored does not lose the others, and none waits for what another transaction holds.
    async fn change_subscriptions(&self, changes: Vec<SubscriptionChange>) -> BatchResult<SubscriptionChange, Changed>;
    /// Something happens to a subscription. Waits for what another transaction holds.
    async fn change_subscription(
        &self,
        id: SubscriptionId,
        claim: Claim,
        event: SubscriptionEvent,
        rules: RenewalRules,
    ) -> StoreResult<Changed> {
        let change = SubscriptionChange { id, claim, event, rules };
        only(self.change_subscriptions(vec![change]).await?)
    }
    /// Claims subscriptions whose next step is due, longest due first, but for those at these hubs. Two workers never
    /// hold the same one.
    async fn claim_due_subscriptions(
        &self,
        owner: &str,
        limit: u32,
        lease: Duration,
        but_not_at: &[String],
    ) -> StoreResult<Vec<SubscriptionJob>>;
    /// Claims active subscriptions whose lease ends within this time, the soonest first, whatever else they wait for; but
    /// not those whose hub has accepted a renewal and may still verify it.
    async fn claim_expiring_subscriptions(
        &self,
        owner: &str,
        limit: u32,
        lease: Duration,
        within: Duration,
    ) -> StoreResult<Vec<SubscriptionJob>>;
    /// Releases claims: the subscriptions are as they were before.
    async fn release_subscriptions(&self, leases: &[(SubscriptionId, Lease)]) -> StoreResult<()>;
    /// When the next step of a subscription will be due, as a delay from now; `None` if there is none to come.
    async fn next_step_in(&self) -> StoreResult<Option<Duration>>;
    /// Stores what hubs bring, as many pushes as can be in one transaction, in the order given: for each the entries, the
    /// counts of the feed, and the state of the subscription, all or nothing. One push that cannot be stored does not lose
    /// the others, and none waits for what another transaction holds. When a feed is to be polled next changes only if its
    /// push says so.
    async fn push_all(&self, pushes: Vec<Push>) -> BatchResult<Push, PushStored>;
    /// Stores what a hub brings. Waits for what another transaction holds.
    async fn push(&self, push: Push) -> StoreResult<PushStored> {
        only(self.push_all(vec![push]).await?)
    }
    /// Makes a feed due after this delay, unless it is due sooner; if it is being polled just now, once more after that.
    async fn poll_soon(&self, feed: FeedId, delay: Duration) -> StoreResult<()>;
}

/// What became of the one job of a batch.
fn only<J, A>(mut outcomes: Vec<StoreResult<Batched<J, A>>>) -> StoreResult<A> {
    match outcomes.pop() {
        Some(Ok(Batched::Done(answer))) => Ok(answer),
        Some(Err(error)) => Err(error),
        Some(Ok(Batched::Locked(_))) | None => Err(unanswered()),
    }
}

fn unanswered() -> StoreError {
    StoreError::Unavailable("the store gave no answer".to_owned())
}

#[async_trait]
pub trait Store:
    AccountStore
    + FolderStore
    + FeedStore
    + IconStore
    + EntryStore
    + PollStore
    + PushStore
    + DeliveryStore
    + ChangeStore
    + FigureStore
    + Send
    + Sync
    + std::fmt::Debug
{
    /// Whether it answers and, as far as that is known without writing, takes writes. After a write that failed for now,
    /// such as on a full disk, SQLite tries one.
    async fn ping(&self) -> StoreResult<()>;
    /// Looks whether its clock was set back since this was last called, by whichever node: by how much, if so. All that is
    /// to happen later is moved by as much then, so that nothing waits until the clock has caught up.
    async fn watch_clock(&self) -> StoreResult<Option<Duration>>;
    /// Its name for people: `SQLite` or `PostgreSQL`.
    fn kind(&self) -> &'static str;
    /// The key that this installation was given when it was made, in hexadecimal digits: it is in ids of events and
    /// deliveries and in cursors, so that those of another installation are told apart.
    fn installation(&self) -> &str;
    /// The key that addresses of pictures and icons are signed with, the same on all nodes. It is shown nowhere.
    fn picture_key(&self) -> &str;
}
