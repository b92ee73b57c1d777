//! What callers of the engine ask for and get.

use domain::{AccountId, Feed, FeedId, FolderId, feed_state::BadAddress, ports::StoreError};
use serde::Serialize;

/// A feed to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddFeed {
    /// Who is to follow it.
    pub account: AccountId,
    /// Its URL, or that of a page that offers it; without a scheme, https is tried before http.
    pub url: String,
    /// The folder to put it in.
    pub folder_id: Option<FolderId>,
    /// What the user calls it.
    pub title: Option<String>,
}

/// A feed that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedFeed {
    pub feed: Feed,
    /// All feeds that the page behind the address offers, best first; none if the address is a feed's own.
    pub offered: Vec<OfferedFeed>,
}

/// A feed that a page offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedFeed {
    pub url: String,
    /// What the page calls it.
    pub title: Option<String>,
}

/// Why a feed was not added. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddFeedError {
    /// Not the address of a feed.
    #[error(transparent)]
    BadAddress(#[from] BadAddress),
    /// The account follows one with this URL.
    #[error("this feed is already there")]
    AlreadyThere(FeedId),
    /// There is no such folder.
    #[error("there is no such folder")]
    NoSuchFolder,
    /// The document is no feed, and offers none.
    #[error("not a feed: {0}")]
    NotAFeed(String),
    /// No document could be fetched.
    #[error("{0}")]
    Unreachable(String),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a feed was not subscribed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// There is no such feed.
    #[error("there is no such feed")]
    NoFeed,
    #[error("push is off, because no base_url is set: hubs cannot reach this server")]
    Off,
    /// The feed has no hub.
    #[error("this feed names no hub: it can only be polled")]
    NoHub,
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefreshSummary {
    pub polled: u32,
    /// Of them, those that answered with something.
    pub fetched: u32,
    /// Of them, those with nothing new.
    pub unchanged: u32,
    /// Of them, those that failed.
    pub failed: u32,
    /// Entries that had not been there.
    pub new_entries: u32,
    /// Entries with other content than before.
    pub changed_entries: u32,
}

/// What became of an OPML file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Feeds that are new.
    pub imported: u32,
    /// Feeds that were there.
    pub skipped: u32,
    /// Outlines that are no feeds, or values of feeds that were left out, and why.
    pub errors: Vec<ImportError>,
}

/// An outline that is no feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportError {
    /// What it gave as its URL.
    pub url: String,
    /// What is wrong with that.
    pub error: String,
}
