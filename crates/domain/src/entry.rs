//! Entries as the store keeps them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    cursor::Cursor,
    ids::{AccountId, EntryId, FeedId, FolderId},
    search::Search,
};

/// Entries on one page: at least, at most, and unless asked otherwise.
pub const PAGE_ENTRIES_MIN: u32 = 1;
/// See [`PAGE_ENTRIES_MIN`].
pub const PAGE_ENTRIES_MAX: u32 = 500;
/// See [`PAGE_ENTRIES_MIN`].
pub const PAGE_ENTRIES_DEFAULT: u32 = 50;

/// Bytes of text on one page: it ends before the entry that would make it more. One entry there is always.
pub const PAGE_TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Ids on one page of ids alone.
pub const PAGE_IDS_MAX: u32 = 10_000;

/// Entries that a page of what changed since a time, or of a search that only excludes, looks at to find those of its kind. If there are
/// too few among them the page is not full, or empty, and its cursor goes on after them.
pub const PAGE_WALK_MAX: u32 = 5_000;

/// Entries that a page of a search looks at where the index proposes many and only their words tell: phrases of common
/// words. As with [`PAGE_WALK_MAX`], the cursor goes on after them.
pub const PHRASE_WALK_MAX: u32 = 20_000;

/// Entries that are named by their ids at once.
pub const ENTRY_IDS_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: EntryId,
    /// The feed that it is of.
    pub feed_id: FeedId,
    /// By what it is known again within its feed.
    pub guid: String,
    /// The page it stands on.
    pub url: Option<String>,
    /// Its heading, as plain text.
    pub title: Option<String>,
    pub author: Option<String>,
    /// A short form, as sanitised HTML.
    pub summary: Option<String>,
    /// The whole, as sanitised HTML.
    pub content: Option<String>,
    /// When its publisher says that it was published.
    pub published_at: Option<Timestamp>,
    /// When its publisher says that it was changed.
    pub updated_at: Option<Timestamp>,
    /// What it is sorted by: when it was published, but not after it was first seen. Never changes.
    pub sort_at: Timestamp,
    /// When the account got it: when it was first seen, or when the account began to follow its feed. Never changes.
    pub received_at: Timestamp,
    /// Whether it has been read.
    pub is_read: bool,
    /// Whether it has been starred.
    pub is_starred: bool,
    /// What it is about.
    pub categories: Vec<String>,
    /// Files that belong to it.
    pub enclosures: Vec<File>,
}

/// A file that belongs to an entry. Its JSON is stored, and part of payloads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    pub url: String,
    #[serde(rename = "type")]
    pub mime: Option<String>,
    /// Its bytes, as the publisher says.
    pub length: Option<u64>,
    /// How long it plays, in seconds.
    #[serde(rename = "durationSecs", default)]
    pub duration_secs: Option<u32>,
}

/// Which entries are wanted, and how. Conditions add up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryFilter {
    pub feed_id: Option<FeedId>,
    /// Of the feeds in this folder.
    pub folder_id: Option<FolderId>,
    /// Not read yet (`Some(true)`), or read (`Some(false)`).
    pub unread: Option<bool>,
    /// Starred (`Some(true)`), or not (`Some(false)`).
    pub starred: Option<bool>,
    /// Found by this search.
    pub search: Option<Search>,
    pub ids: Option<Vec<EntryId>>,
    /// Received or changed since a time, and in the order of that time. Searches and ids do not count then.
    pub since: Option<Since>,
    /// Received at this time or before. It counts only with [`Since::Received`].
    pub until: Option<Timestamp>,
    pub order: Order,
    /// Without summary and content, which are not read then.
    pub without_texts: bool,
}

/// A time that entries are wanted from, the time itself included. From [`Timestamp::MIN`] on are all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// First seen since then.
    Received(Timestamp),
    /// New, other content, or marked (read, starred) since then.
    Changed(Timestamp),
}

/// The order of a page, by time and then by id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Newest,
    Oldest,
}

impl Order {
    pub const ALL: [Self; 2] = [Self::Newest, Self::Oldest];

    pub fn name(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Oldest => "oldest",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }
}

impl EntryFilter {
    /// Whether a page may have to look at many entries that are not in it: no index lists them alone. Stores keep such
    /// pages apart, so that the others do not wait for them.
    pub fn is_slow(&self) -> bool {
        self.search.is_some() || self.is_of_changes() && self.is_selective()
    }

    /// Whether it is of what changed since a time, whose index holds entries of every kind.
    pub fn is_of_changes(&self) -> bool {
        matches!(self.since, Some(Since::Changed(_)))
    }

    /// Whether a page walks an index of its own, which holds all that the page shows but the entries: no search, no ids.
    pub fn is_walk(&self) -> bool {
        !self.is_of_changes() && (self.since.is_some() || self.search.is_none() && self.ids.is_none())
    }

    /// Whether some entries are not of this kind, whatever their time.
    pub fn is_selective(&self) -> bool {
        self.feed_id.is_some() || self.folder_id.is_some() || self.unread.is_some() || self.starred.is_some()
    }
}

/// A page of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPage {
    pub entries: Vec<Entry>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<Cursor>,
}

/// A page of entries of which only the ids are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryIdPage {
    pub ids: Vec<EntryId>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<Cursor>,
}

impl From<EntryPage> for EntryIdPage {
    fn from(page: EntryPage) -> Self {
        Self { ids: page.entries.into_iter().map(|entry| entry.id).collect(), next_cursor: page.next_cursor }
    }
}

/// What a reader changes about an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryPatch {
    pub is_read: Option<bool>,
    pub is_starred: Option<bool>,
}

/// The counts of an account, as they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountCounts {
    pub account_id: AccountId,
    /// Starred in all, read or not.
    pub starred: u64,
    pub follows: Vec<FollowCount>,
}

/// What is unread in a feed that an account follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowCount {
    pub feed_id: FeedId,
    pub folder_id: Option<FolderId>,
    pub unread: u64,
}

/// Unread entries, and starred ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub total: u64,
    /// Starred in all, read or not.
    pub starred: u64,
    /// Unread in each folder that has a feed.
    pub by_folder: std::collections::BTreeMap<FolderId, u64>,
    /// Unread in each feed.
    pub by_feed: std::collections::BTreeMap<FeedId, u64>,
}
