//! The store, as whole use cases: each method is one transaction, and the transaction stays inside the adapter.
//!
//! All times are the store's: the injected clock's on SQLite, the database's on PostgreSQL, so that nodes whose clocks
//! differ agree. Callers pass delays, never instants. Adapters decide nothing that is not said here.

use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    cursor::Cursor,
    entry::{Counts, Entry, EntryFilter, EntryPage, EntryPatch},
    feed_state::{Feed, FeedPatch, FeedSeed, NewFeed},
    folder::Folder,
    ids::{EntryId, FeedId, FolderId},
    ingest::{Hash, PollJob, PollResult, Stored},
    lease::Lease,
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

/// What became of a new feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewFeedOutcome {
    /// It is kept.
    Added(Box<Feed>),
    /// There is one with this URL.
    AlreadyThere(FeedId),
    /// There is no such folder. Nothing was kept.
    NoSuchFolder,
}

/// What became of an import, feed by feed, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It is kept and will be polled.
    Imported(FeedId),
    /// There is one with this URL.
    AlreadyThere(FeedId),
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
    /// Read entries beyond the newest so many of a feed go.
    pub per_feed: u32,
    /// At most so many go in one call.
    pub chunk: u32,
}

/// Folders.
#[async_trait]
pub trait FolderStore {
    /// All folders in their order.
    async fn folders(&self) -> StoreResult<Vec<Folder>>;
    /// Makes a folder, last in the order.
    async fn create_folder(&self, name: &str) -> StoreResult<Result<Folder, Conflict>>;
    /// Gives a folder another name.
    async fn rename_folder(&self, id: FolderId, name: &str) -> StoreResult<UpdateOutcome<Folder>>;
    /// Removes a folder; its feeds stay, in none. False if there is none.
    async fn delete_folder(&self, id: FolderId) -> StoreResult<bool>;
    /// Puts folders in this order; those not named follow in the order they had. `None`, and nothing changed, if one of
    /// them does not exist or is named twice.
    async fn reorder_folders(&self, ids: &[FolderId]) -> StoreResult<Option<Vec<Folder>>>;
}

/// Feeds.
#[async_trait]
pub trait FeedStore {
    /// All feeds, by title (the user's before the feed's own, before the URL), without regard to case.
    async fn feeds(&self) -> StoreResult<Vec<Feed>>;
    /// One feed.
    async fn feed(&self, id: FeedId) -> StoreResult<Option<Feed>>;
    /// The feed with this URL.
    async fn feed_by_url(&self, url: &str) -> StoreResult<Option<FeedId>>;
    /// Keeps a feed that was just fetched, with its entries, in one transaction.
    async fn add_feed(&self, feed: NewFeed) -> StoreResult<NewFeedOutcome>;
    /// Keeps many feeds that were not fetched yet, due at once, in one transaction; folders are made as needed.
    async fn import_feeds(&self, feeds: Vec<FeedSeed>) -> StoreResult<Vec<ImportOutcome>>;
    /// Changes a feed. A new URL forgets validators, failures and `isGone`, and makes it due at once.
    async fn update_feed(&self, id: FeedId, patch: FeedPatch) -> StoreResult<UpdateOutcome<Feed>>;
    /// Removes a feed and its entries. False if there is none.
    async fn delete_feed(&self, id: FeedId) -> StoreResult<bool>;
}

/// Entries.
#[async_trait]
pub trait EntryStore {
    /// A page of entries, newest (`sortAt`, then id) first, after the cursor. Summary and content are included.
    async fn entries(&self, filter: &EntryFilter, limit: u32, after: Option<Cursor>) -> StoreResult<EntryPage>;
    /// One entry.
    async fn entry(&self, id: EntryId) -> StoreResult<Option<Entry>>;
    /// Marks an entry; `None` if there is none.
    async fn patch_entry(&self, id: EntryId, patch: EntryPatch) -> StoreResult<Option<Entry>>;
    /// Marks entries as read, in chunks; returns how many were not.
    async fn mark_read(&self, which: MarkRead) -> StoreResult<u64>;
    /// Unread and starred entries, without counting them one by one.
    async fn counts(&self) -> StoreResult<Counts>;
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
    /// Gives claims back: the feeds are as they were before.
    async fn release_polls(&self, leases: &[(FeedId, Lease)]) -> StoreResult<()>;
    /// Gives claims back (row, owner, fence) of feeds that must wait: each is due after this delay, or when it would have
    /// been, whichever is later. Nothing else about them changes.
    async fn postpone_polls(&self, leases: &[(FeedId, Lease)], delay: Duration) -> StoreResult<()>;
    /// How these identities are known in a feed: the fingerprint of the entry, or `None` for one that was pruned and is
    /// remembered. Identities that are not known are not in the answer.
    async fn known_entries(&self, feed: FeedId, identities: &[Hash]) -> StoreResult<HashMap<Hash, Option<Hash>>>;
    /// Stores how polls ended, each guarded by its lease, and gives the leases back. In the order given: for each the
    /// entries, the validators and the feed's state, all or nothing. One result that cannot be stored does not lose the
    /// others.
    async fn finish_polls(&self, results: Vec<PollResult>) -> StoreResult<Vec<StoreResult<Stored>>>;
    /// When the next feed will be due, as a delay from now; `None` if no feed is polled.
    async fn next_poll_in(&self) -> StoreResult<Option<Duration>>;
    /// Removes read entries that are too old or too many, never starred ones, one chunk; returns how many. Their
    /// identities are kept until a complete poll no longer holds them.
    async fn prune_entries(&self, limits: PruneLimits) -> StoreResult<u64>;
}

/// All of it.
#[async_trait]
pub trait Store: FolderStore + FeedStore + EntryStore + PollStore + Send + Sync + std::fmt::Debug {
    /// Whether it answers and, as far as that is known without writing, takes writes. After a write that failed for now,
    /// such as on a full disk, SQLite tries one.
    async fn ping(&self) -> StoreResult<()>;
    /// Its name for people: `SQLite` or `PostgreSQL`.
    fn kind(&self) -> &'static str;
}
