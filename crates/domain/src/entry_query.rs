//! Entries as the programs of other readers ask for them: by many conditions at once, in one of several orders, so many
//! after so many. Only ids are found this way; texts are read by them.

use jiff::Timestamp;

use crate::{
    entry::{Counts, Order},
    ids::{EntryId, FeedId, FolderId},
};

/// Entries that may be passed over before the first one wanted: a walk looks at each of them. Who wants more goes by ids.
pub const OFFSET_MAX: u32 = 100_000;

/// Ids that are found at once.
pub const FOUND_MAX: u32 = 500_000;

/// Entries are counted up to so many; a larger number is said to be this.
pub const TOTAL_MAX: u64 = 100_000;

/// Which entries are wanted. Conditions add up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryQuery {
    pub feed_id: Option<FeedId>,
    pub place: Option<Place>,
    /// Not read yet (`Some(true)`), or read (`Some(false)`).
    pub unread: Option<bool>,
    /// Starred (`Some(true)`), or not (`Some(false)`).
    pub starred: Option<bool>,
    /// Only of these.
    pub among: Option<Vec<EntryId>>,
    pub after_id: Option<EntryId>,
    pub before_id: Option<EntryId>,
    /// By `sort_at`.
    pub published: Between,
    /// By when anything that the account sees of it last changed.
    pub changed: Between,
    /// Only what changed after the account got it, not what came in as it is: who begins to follow a feed gets its older
    /// entries read, and nobody has read them.
    pub changed_since_received: bool,
    pub by: SortBy,
    pub order: Order,
}

/// Where an account keeps a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Folder(FolderId),
    /// In no folder.
    Outside,
}

/// Between two times, neither of them included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Between {
    pub after: Option<Timestamp>,
    pub before: Option<Timestamp>,
}

impl Between {
    fn is_any(self) -> bool {
        self == Self::default()
    }
}

/// What entries are sorted by, and then by id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortBy {
    /// `sort_at`.
    #[default]
    Published,
    Id,
    /// When the account got it.
    Received,
    Changed,
}

/// What a search for entries walks, in which order that has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walked {
    /// Those that are named.
    Among,
    Starred,
    Unread,
    UnreadOfFeed,
    UnreadOfFolder,
    OfFeed,
    OfFolder,
    Newest,
    ById,
    Received,
    Changed,
}

impl EntryQuery {
    /// What to walk: what is likely to have the fewest entries that are not wanted. What was read before is walked only
    /// where it is asked for.
    pub fn walked(&self) -> Walked {
        let in_folder = matches!(self.place, Some(Place::Folder(_)));
        if self.among.is_some() {
            return Walked::Among;
        }
        if self.starred == Some(true) {
            return Walked::Starred;
        }
        if self.unread == Some(true) {
            return match (self.feed_id.is_some(), in_folder) {
                (true, _) => Walked::UnreadOfFeed,
                (false, true) => Walked::UnreadOfFolder,
                (false, false) => Walked::Unread,
            };
        }
        match (self.feed_id.is_some(), in_folder) {
            (true, _) => Walked::OfFeed,
            _ if self.after_id.is_some() => Walked::ById,
            _ if self.changed.after.is_some() => Walked::Changed,
            (false, true) => Walked::OfFolder,
            (false, false) => self.by.walked(),
        }
    }

    /// Whether what is walked has another order than is wanted.
    pub fn is_sorted_after(&self) -> bool {
        match self.walked() {
            Walked::Among => true,
            Walked::ById => self.by != SortBy::Id,
            Walked::Received => self.by != SortBy::Received,
            Walked::Changed => self.by != SortBy::Changed,
            _ => self.by != SortBy::Published,
        }
    }

    /// Whether many entries may have to be looked at that are not wanted. Stores keep such searches apart, so that the
    /// others do not wait for them.
    pub fn is_slow(&self) -> bool {
        let is_kind_walked = self.place != Some(Place::Outside) && self.changed.before.is_none();
        self.is_sorted_after() || !is_kind_walked
    }

    /// How many there are, if that is kept; `None` if they would have to be counted.
    pub fn kept_count(&self, counts: &Counts) -> Option<u64> {
        let is_narrowed = self.among.is_some()
            || self.after_id.is_some()
            || self.before_id.is_some()
            || !self.published.is_any()
            || !self.changed.is_any()
            || self.changed_since_received;
        if is_narrowed {
            return None;
        }
        match (self.unread, self.starred, self.feed_id, self.place) {
            (Some(true), None, None, None) => Some(counts.total),
            (Some(true), None, Some(feed), None) => Some(counts.by_feed.get(&feed).copied().unwrap_or(0)),
            (Some(true), None, None, Some(Place::Folder(folder))) => {
                Some(counts.by_folder.get(&folder).copied().unwrap_or(0))
            }
            (Some(true), None, None, Some(Place::Outside)) => {
                Some(counts.total.saturating_sub(counts.by_folder.values().sum()))
            }
            (None, Some(true), None, None) => Some(counts.starred),
            _ => None,
        }
    }
}

impl SortBy {
    fn walked(self) -> Walked {
        match self {
            Self::Published => Walked::Newest,
            Self::Id => Walked::ById,
            Self::Received => Walked::Received,
            Self::Changed => Walked::Changed,
        }
    }
}

/// What is kept of a feed that an account follows: nobody counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedCounter {
    pub feed_id: FeedId,
    /// Entries of the feed. Where others follow it too, that may be more than the account still has.
    pub entries: u64,
    pub unread: u64,
    /// When it was last fetched with success.
    pub last_fetched_at: Option<Timestamp>,
}

impl FeedCounter {
    pub fn read(&self) -> u64 {
        self.entries.saturating_sub(self.unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> EntryQuery {
        EntryQuery::default()
    }

    #[test]
    fn s4_the_fewest_entries_are_walked() {
        let unread = || EntryQuery { unread: Some(true), ..any() };
        let folder = Some(Place::Folder(FolderId(1)));
        let feed = Some(FeedId(1));
        let since = Between { after: Some(Timestamp::UNIX_EPOCH), before: None };
        for (query, walked, is_sorted, is_slow) in [
            (any(), Walked::Newest, false, false),
            (EntryQuery { by: SortBy::Id, ..any() }, Walked::ById, false, false),
            (EntryQuery { by: SortBy::Received, ..any() }, Walked::Received, false, false),
            (EntryQuery { by: SortBy::Changed, unread: Some(false), ..any() }, Walked::Changed, false, false),
            (EntryQuery { after_id: Some(EntryId(9)), by: SortBy::Id, ..any() }, Walked::ById, false, false),
            (EntryQuery { after_id: Some(EntryId(9)), ..any() }, Walked::ById, true, true),
            (EntryQuery { changed: since, by: SortBy::Changed, ..any() }, Walked::Changed, false, false),
            (EntryQuery { changed: since, ..any() }, Walked::Changed, true, true),
            (EntryQuery { place: folder, ..any() }, Walked::OfFolder, false, false),
            (EntryQuery { place: Some(Place::Outside), ..any() }, Walked::Newest, false, true),
            (EntryQuery { feed_id: feed, ..any() }, Walked::OfFeed, false, false),
            (EntryQuery { feed_id: feed, by: SortBy::Id, ..any() }, Walked::OfFeed, true, true),
            (unread(), Walked::Unread, false, false),
            (EntryQuery { by: SortBy::Id, ..unread() }, Walked::Unread, true, true),
            (EntryQuery { feed_id: feed, place: folder, ..unread() }, Walked::UnreadOfFeed, false, false),
            (EntryQuery { place: folder, ..unread() }, Walked::UnreadOfFolder, false, false),
            (EntryQuery { starred: Some(true), ..unread() }, Walked::Starred, false, false),
            (EntryQuery { among: Some(Vec::new()), ..unread() }, Walked::Among, true, true),
        ] {
            assert_eq!(
                (query.walked(), query.is_sorted_after(), query.is_slow()),
                (walked, is_sorted, is_slow),
                "{query:?}"
            );
        }
    }

    #[test]
    fn a6_kept_counts_are_taken_where_there_are_any() {
        let (feed, folder) = (FeedId(1), FolderId(2));
        let counts = Counts { total: 10, starred: 3, by_folder: [(folder, 4)].into(), by_feed: [(feed, 5)].into() };
        let unread = || EntryQuery { unread: Some(true), ..any() };
        for (query, expect) in [
            (unread(), Some(10)),
            (EntryQuery { by: SortBy::Id, ..unread() }, Some(10)),
            (EntryQuery { feed_id: Some(feed), ..unread() }, Some(5)),
            (EntryQuery { feed_id: Some(FeedId(9)), ..unread() }, Some(0)),
            (EntryQuery { place: Some(Place::Folder(folder)), ..unread() }, Some(4)),
            (EntryQuery { place: Some(Place::Outside), ..unread() }, Some(6)),
            (EntryQuery { starred: Some(true), ..any() }, Some(3)),
            (EntryQuery { starred: Some(true), ..unread() }, None),
            (EntryQuery { after_id: Some(EntryId(1)), ..unread() }, None),
            (any(), None),
            (EntryQuery { unread: Some(false), ..any() }, None),
        ] {
            assert_eq!(query.kept_count(&counts), expect, "{query:?}");
        }
    }

    #[test]
    fn s3_what_is_not_unread_is_read() {
        let counter =
            |entries, unread| FeedCounter { feed_id: FeedId(1), entries, unread, last_fetched_at: None }.read();
        assert_eq!((counter(5, 2), counter(2, 2), counter(1, 2)), (3, 0, 0));
    }
}
