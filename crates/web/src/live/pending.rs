//! What an audience has not been told yet: changes put together, and bounded.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    EntryId, FeedId,
    changes::{Change, ChangeKind, ENTRIES_LISTED_MAX, FEEDS_NAMED_MAX},
};

use super::{Audience, follows::Follows};

/// Feeds that something concerns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Feeds {
    #[default]
    None,
    These(BTreeSet<FeedId>),
    /// Too many to name, or nobody knows which.
    Several,
}

impl Feeds {
    pub(super) fn is_none(&self) -> bool {
        *self == Self::None
    }

    fn add(&mut self, feed: Option<FeedId>) {
        let Some(feed) = feed else { return *self = Self::Several };
        match self {
            Self::None => *self = Self::These([feed].into()),
            Self::These(these) => {
                these.insert(feed);
                if these.len() > FEEDS_NAMED_MAX {
                    *self = Self::Several;
                }
            }
            Self::Several => {}
        }
    }

    fn retain(&mut self, is_kept: impl Fn(FeedId) -> bool) {
        if let Self::These(these) = self {
            these.retain(|feed| is_kept(*feed));
            if these.is_empty() {
                *self = Self::None;
            }
        }
    }
}

/// Entries that came, changed or were marked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entries {
    /// How many in changes that name none, or too many.
    unlisted: u64,
    listed: BTreeSet<EntryId>,
}

impl Entries {
    pub(super) fn count(&self) -> u64 {
        self.unlisted + u64::try_from(self.listed.len()).unwrap_or(u64::MAX)
    }

    /// Which they are; none if not all are known.
    pub(super) fn ids(&self) -> Vec<EntryId> {
        if self.unlisted > 0 { Vec::new() } else { self.listed.iter().copied().collect() }
    }

    pub(super) fn add(&mut self, count: u64, ids: &[EntryId]) {
        if u64::try_from(ids.len()).ok() == Some(count) {
            self.listed.extend(ids);
        } else {
            self.unlisted += count;
        }
        if self.listed.len() > ENTRIES_LISTED_MAX {
            self.unlisted = self.count();
            self.listed.clear();
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.unlisted += other.unlisted;
        let listed: Vec<EntryId> = other.listed.iter().copied().collect();
        self.add(other.listed.len().try_into().unwrap_or(u64::MAX), &listed);
    }
}

#[derive(Debug, Default)]
pub(super) struct Pending {
    /// By feed, so that those of feeds that the account turns out not to follow can be left out.
    pub(super) entries: BTreeMap<FeedId, Entries>,
    /// Entries came or went that no feed is named for.
    pub(super) has_unnamed_entries: bool,
    pub(super) marks: Entries,
    pub(super) marked_in: Feeds,
    /// Feeds that changed for all who follow them.
    feeds: Feeds,
    /// Feeds of the account that came, went, or are set otherwise.
    own_feeds: Feeds,
    pub(super) subscriptions: Feeds,
    pub(super) has_deliveries: bool,
    /// Whose counts may be others now.
    pub(super) counted: Feeds,
    /// What the account follows may be other now.
    pub(super) is_stale: bool,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.events() == 0 && self.counted.is_none() && !self.is_stale
    }

    /// How many events this makes at most.
    pub(super) fn events(&self) -> u32 {
        [
            !self.entries.is_empty() || self.has_unnamed_entries,
            !self.marked_in.is_none(),
            !self.feeds.is_none() || !self.own_feeds.is_none(),
            !self.subscriptions.is_none(),
            self.has_deliveries,
            !self.counted.is_none(),
        ]
        .into_iter()
        .map(u32::from)
        .sum()
    }

    /// Takes what concerns this audience of a change. What it follows may not be known yet: [`keep_followed`] then.
    ///
    /// [`keep_followed`]: Self::keep_followed
    pub(super) fn note(&mut self, change: &Change, audience: Audience, follows: Option<&Follows>) {
        let follows = follows.filter(|_| !self.is_stale);
        let is_own = change.account_id == Some(audience.account);
        let is_of_all = change.account_id.is_none();
        let may_follow = change.feed_id.is_some_and(|feed| follows.is_none_or(|follows| follows.has(feed)));
        match change.kind {
            ChangeKind::Entries => match change.feed_id {
                Some(feed) if may_follow => self.note_entries(feed, change),
                Some(_) => {}
                None => self.note_unnamed_entries(),
            },
            ChangeKind::Marks if is_own => {
                self.marks.add(change.count, &change.entries);
                self.marked_in.add(change.feed_id);
                self.counted.add(change.feed_id);
            }
            // So many changed that none is named: whoever it is loads the list anew.
            ChangeKind::Feed if is_of_all && change.feed_id.is_none() => self.own_feeds.add(None),
            ChangeKind::Feed if is_of_all && (may_follow || audience.sees_server) => self.feeds.add(change.feed_id),
            // It may be in another folder.
            ChangeKind::Feed | ChangeKind::Feeds if is_own => {
                self.own_feeds.add(change.feed_id);
                self.counted = Feeds::Several;
                self.is_stale = true;
            }
            ChangeKind::Subscription if may_follow || audience.sees_server => self.subscriptions.add(change.feed_id),
            ChangeKind::Webhooks | ChangeKind::Deliveries if is_own || audience.sees_server => {
                self.has_deliveries = true;
            }
            _ => {}
        }
    }

    fn note_entries(&mut self, feed: FeedId, change: &Change) {
        if self.entries.len() >= FEEDS_NAMED_MAX && !self.entries.contains_key(&feed) {
            return self.note_unnamed_entries();
        }
        self.entries.entry(feed).or_default().add(change.count, &change.entries);
        self.counted.add(Some(feed));
    }

    fn note_unnamed_entries(&mut self) {
        self.has_unnamed_entries = true;
        self.counted = Feeds::Several;
    }

    /// Leaves out what is of feeds that the account does not follow.
    pub(super) fn keep_followed(&mut self, audience: Audience, follows: &Follows) {
        self.entries.retain(|feed, _| follows.has(*feed));
        self.counted.retain(|feed| follows.has(feed));
        if !audience.sees_server {
            self.feeds.retain(|feed| follows.has(feed));
            self.subscriptions.retain(|feed| follows.has(feed));
        }
    }

    /// Feeds that changed in any way.
    pub(super) fn changed_feeds(&self) -> Feeds {
        let mut feeds = self.own_feeds.clone();
        match &self.feeds {
            Feeds::None => {}
            Feeds::These(these) => these.iter().for_each(|feed| feeds.add(Some(*feed))),
            Feeds::Several => feeds.add(None),
        }
        feeds
    }
}
