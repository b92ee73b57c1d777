//! The change stream: what was changed, in the order in which it was committed, so that pages, other nodes and whoever
//! delivers need not ask again and again.
//!
//! A change says what to look at, not what is there: a kind, a feed, how many entries and, if they are few, which. It is
//! written in the transaction that changes something, and pruned after an hour. Whoever follows the stream keeps the
//! number of the last change that it has heard; one that is no longer known means to load everything anew.

mod log;

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::log::ChangeLog;
use crate::{
    ids::{AccountId, EntryId, FeedId},
    push::Subscription,
};

/// Entries that one change names; of more it tells only how many they are.
pub const ENTRIES_LISTED_MAX: usize = 100;

/// Feeds that the changes of one kind name in one transaction; of more they are one change, of no feed in particular.
pub const FEEDS_NAMED_MAX: usize = 100;

/// How long changes are known.
pub const KEPT_FOR: Duration = Duration::from_hours(1);

/// Changes that are known at most: whoever has missed more loads everything anew with less effort.
pub const KEPT_MAX: i64 = 100_000;

/// The place of a change in the stream. It rises in the order in which changes become visible; some are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeNumber(pub i64);

impl std::fmt::Display for ChangeNumber {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Entries came, changed or went.
    Entries,
    /// Entries were marked: as read, as starred, or not.
    Marks,
    /// A feed changed: what it is called, how it is set, whether it fails.
    Feed,
    /// Feeds or folders came, went or were moved.
    Feeds,
    /// What a hub does for a feed changed.
    Subscription,
    /// Webhooks came, went or changed.
    Webhooks,
    /// Deliveries were queued, can be claimed that could not be before, or were given up or called off. That one arrived
    /// is none: it would be said thousands of times in a second.
    Deliveries,
}

impl ChangeKind {
    pub const ALL: [Self; 7] =
        [Self::Entries, Self::Marks, Self::Feed, Self::Feeds, Self::Subscription, Self::Webhooks, Self::Deliveries];

    /// In the store, and for pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Marks => "marks",
            Self::Feed => "feed",
            Self::Feeds => "feeds",
            Self::Subscription => "subscription",
            Self::Webhooks => "webhooks",
            Self::Deliveries => "deliveries",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A change that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChange {
    pub kind: ChangeKind,
    /// Whom it concerns; `None`: all who follow the feed, or everybody.
    pub account_id: Option<AccountId>,
    /// `None`: of several, or of none in particular.
    pub feed_id: Option<FeedId>,
    /// How many entries or feeds; 0 for kinds that do not count.
    pub count: u64,
    /// Which entries; empty if they are more than [`ENTRIES_LISTED_MAX`].
    pub entries: Vec<EntryId>,
}

impl NewChange {
    pub(crate) fn of(kind: ChangeKind) -> Self {
        Self { kind, account_id: None, feed_id: None, count: 0, entries: Vec::new() }
    }
}

/// A change that was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub number: ChangeNumber,
    pub kind: ChangeKind,
    pub account_id: Option<AccountId>,
    pub feed_id: Option<FeedId>,
    pub count: u64,
    pub entries: Vec<EntryId>,
    pub at: Timestamp,
}

/// What follows a place in the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangesPage {
    pub changes: Vec<Change>,
    /// Where to go on.
    pub next: ChangeNumber,
    /// What follows is not known any more, or never was: everything is to be loaded anew. There are no changes then, and
    /// `next` is the end of the stream.
    pub is_reset: bool,
    /// More is committed than there is here: it did not fit, or somebody who has a smaller number has not committed yet.
    pub has_more: bool,
}

impl ChangesPage {
    /// For whoever asks for what is not known.
    pub fn reset(last: ChangeNumber) -> Self {
        Self { next: last, is_reset: true, ..Self::default() }
    }
}

/// Whether something that is shown of a subscription is another than before; that one more push came is not.
pub fn alters_subscription(before: &Subscription, after: Option<&Subscription>) -> bool {
    let Some(after) = after else { return true };
    let is_same = before.feed_id == after.feed_id
        && before.hub_url == after.hub_url
        && before.topic_url == after.topic_url
        && before.state == after.state
        && before.is_active() == after.is_active()
        && before.is_trusted() == after.is_trusted()
        && before.lease_secs == after.lease_secs
        && before.expires_at == after.expires_at
        && before.error_count == after.error_count
        && before.last_error == after.last_error
        && before.miss_count == after.miss_count;
    !is_same
}

/// Whether it is known what follows a place: nothing was pruned after it, and it is none of another database's, such as
/// one that was replaced by an older copy of it.
pub fn is_known(after: ChangeNumber, pruned_to: ChangeNumber, last: ChangeNumber) -> bool {
    pruned_to <= after && after <= last
}

/// The last change to be pruned of these, the oldest in the stream with their times, if any is: those of before
/// `kept_since`, and those beyond [`KEPT_MAX`]. Only from the beginning, so that one number tells what is gone.
pub fn prune_to(
    oldest: &[(ChangeNumber, Timestamp)],
    last: ChangeNumber,
    kept_since: Timestamp,
) -> Option<ChangeNumber> {
    let is_old = |(number, at): &&(ChangeNumber, Timestamp)| *at < kept_since || number.0 <= last.0 - KEPT_MAX;
    oldest.iter().take_while(is_old).last().map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u2_kinds_are_found_by_their_names() {
        for kind in ChangeKind::ALL {
            assert_eq!(ChangeKind::by_name(kind.name()), Some(kind));
        }
        assert_eq!(ChangeKind::by_name("nothing"), None);
    }

    #[test]
    fn u2_places_are_known_between_pruned_and_last() {
        for (after, pruned_to, last, expect) in
            [(0, 0, 0, true), (0, 0, 9, true), (4, 5, 9, false), (5, 5, 9, true), (9, 5, 9, true), (10, 5, 9, false)]
        {
            let [after, pruned_to, last] = [after, pruned_to, last].map(ChangeNumber);
            assert_eq!(is_known(after, pruned_to, last), expect, "{after} of {pruned_to} to {last}");
        }
    }

    #[test]
    fn u2_only_the_beginning_is_pruned() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let rows = |times: &[i64]| -> Vec<(ChangeNumber, Timestamp)> {
            times.iter().zip(1..).map(|(time, number)| (ChangeNumber(number), at(*time))).collect()
        };
        for (times, last, expect) in [
            (vec![], 0, None),
            (vec![10, 20], 2, None),
            (vec![9, 10], 2, Some(1)),
            (vec![8, 9], 2, Some(2)),
            // Behind a clock that was set back.
            (vec![20, 9], 2, None),
            (vec![20, 20, 20], KEPT_MAX + 2, Some(2)),
        ] {
            assert_eq!(prune_to(&rows(&times), ChangeNumber(last), at(10)).map(|number| number.0), expect, "{times:?}");
        }
    }
}
