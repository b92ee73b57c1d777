//! What a transaction changes, gathered while it runs and written at its end: of each kind and feed one change.

use std::collections::HashMap;

use super::{ChangeKind, ENTRIES_LISTED_MAX, FEEDS_NAMED_MAX, NewChange};
use crate::ids::{AccountId, EntryId, FeedId};

/// What a transaction has changed so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeLog {
    noted: Vec<NewChange>,
    /// What was noted before this is another's, and stays as it is.
    kept: usize,
}

impl ChangeLog {
    /// Entries of a feed came or changed; nothing if they are none.
    pub fn entries(&mut self, feed: FeedId, entries: Vec<EntryId>) {
        let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        self.of_entries(ChangeKind::Entries, None, Some(feed), count, entries);
    }

    /// So many entries went, of whatever feeds.
    pub fn entries_removed(&mut self, count: u64) {
        if count > 0 {
            self.of_entries(ChangeKind::Entries, None, None, count, Vec::new());
        }
    }

    /// So many entries were marked by an account, of this feed or of several; nothing if they are none. Which, if they are
    /// few.
    pub fn marks(&mut self, account: AccountId, feed: Option<FeedId>, count: u64, entries: Vec<EntryId>) {
        self.of_entries(ChangeKind::Marks, Some(account), feed, count, entries);
    }

    /// For all who follow it.
    pub fn feed(&mut self, feed: FeedId) {
        self.note(NewChange { feed_id: Some(feed), ..NewChange::of(ChangeKind::Feed) });
    }

    /// What one account wants of a feed.
    pub fn follow(&mut self, account: AccountId, feed: FeedId) {
        self.note(NewChange { account_id: Some(account), feed_id: Some(feed), ..NewChange::of(ChangeKind::Feed) });
    }

    /// An account follows this feed, or no longer, or many; or its folders changed.
    pub fn feeds(&mut self, account: AccountId, feed: Option<FeedId>, count: u64) {
        self.note(NewChange { account_id: Some(account), feed_id: feed, count, ..NewChange::of(ChangeKind::Feeds) });
    }

    /// `None`: of a feed that is gone.
    pub fn subscription(&mut self, feed: Option<FeedId>) {
        self.note(NewChange { feed_id: feed, ..NewChange::of(ChangeKind::Subscription) });
    }

    pub fn webhooks(&mut self, account: AccountId) {
        self.note(NewChange { account_id: Some(account), ..NewChange::of(ChangeKind::Webhooks) });
    }

    pub fn deliveries(&mut self) {
        self.note(NewChange::of(ChangeKind::Deliveries));
    }

    pub fn deliveries_if(&mut self, is_queued: bool) {
        if is_queued {
            self.deliveries();
        }
    }

    /// What another part of the transaction has changed.
    pub fn add(&mut self, other: Self) {
        for change in other.noted {
            self.note(change);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// What is noted from now on can be undone by itself.
    pub fn mark(&mut self) -> usize {
        self.kept = self.noted.len();
        self.kept
    }

    /// Forgets what was noted since the mark.
    pub fn undo_to(&mut self, mark: usize) {
        self.noted.truncate(mark);
    }

    /// All of it, and nothing is noted any more: one change of each kind and feed, in the order of the first.
    pub fn take(&mut self) -> Vec<NewChange> {
        self.kept = 0;
        let noted = std::mem::take(&mut self.noted);
        without_feeds_of_many(merged(noted))
    }

    fn of_entries(
        &mut self,
        kind: ChangeKind,
        account_id: Option<AccountId>,
        feed_id: Option<FeedId>,
        count: u64,
        entries: Vec<EntryId>,
    ) {
        if count > 0 {
            self.note(NewChange { kind, account_id, feed_id, count, entries: listed(entries) });
        }
    }

    fn note(&mut self, change: NewChange) {
        let known = self.noted[self.kept..].iter_mut().rev().find(|known| is_alike(known, &change));
        match known {
            Some(known) => merge(known, change),
            None => self.noted.push(change),
        }
    }
}

fn is_alike(one: &NewChange, other: &NewChange) -> bool {
    (one.kind, one.account_id, one.feed_id) == (other.kind, other.account_id, other.feed_id)
}

fn listed(entries: Vec<EntryId>) -> Vec<EntryId> {
    if entries.len() > ENTRIES_LISTED_MAX { Vec::new() } else { entries }
}

/// Of entries that are named by both, one counts; of those that are not, nobody knows.
fn merge(into: &mut NewChange, other: NewChange) {
    let is_complete = |change: &NewChange| u64::try_from(change.entries.len()).ok() == Some(change.count);
    if is_complete(into) && is_complete(&other) {
        let new: Vec<EntryId> = other.entries.into_iter().filter(|entry| !into.entries.contains(entry)).collect();
        into.count += u64::try_from(new.len()).unwrap_or(u64::MAX);
        into.entries.extend(new);
        into.entries = listed(std::mem::take(&mut into.entries));
    } else {
        into.count = into.count.saturating_add(other.count);
        into.entries = Vec::new();
    }
}

fn merged(noted: Vec<NewChange>) -> Vec<NewChange> {
    let (mut changes, mut places): (Vec<NewChange>, HashMap<_, usize>) = (Vec::new(), HashMap::new());
    for change in noted {
        if let Some(place) = places.get(&(change.kind, change.account_id, change.feed_id)) {
            merge(&mut changes[*place], change);
        } else {
            places.insert((change.kind, change.account_id, change.feed_id), changes.len());
            changes.push(change);
        }
    }
    changes
}

fn without_feeds_of_many(changes: Vec<NewChange>) -> Vec<NewChange> {
    let mut of_kind: HashMap<ChangeKind, usize> = HashMap::new();
    for change in &changes {
        *of_kind.entry(change.kind).or_default() += 1;
    }
    if of_kind.values().all(|count| *count <= FEEDS_NAMED_MAX) {
        return changes;
    }
    let is_many = |change: &NewChange| of_kind.get(&change.kind).is_some_and(|count| *count > FEEDS_NAMED_MAX);
    merged(
        changes
            .into_iter()
            .map(|change| if is_many(&change) { NewChange { feed_id: None, ..change } } else { change })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEED: FeedId = FeedId(7);

    fn ids(ids: impl IntoIterator<Item = i64>) -> Vec<EntryId> {
        ids.into_iter().map(EntryId).collect()
    }

    fn change(kind: ChangeKind, feed_id: Option<FeedId>, count: u64, entries: Vec<EntryId>) -> NewChange {
        NewChange { kind, account_id: None, feed_id, count, entries }
    }

    #[test]
    fn u2_one_change_of_each_kind_and_feed() {
        let mut log = ChangeLog::default();
        log.entries(FEED, ids([1, 2]));
        log.deliveries();
        log.entries(FeedId(8), ids([3]));
        log.mark();
        log.entries(FEED, ids([2, 4]));
        log.deliveries();
        log.entries(FEED, ids([]));
        let expect = [
            change(ChangeKind::Entries, Some(FEED), 3, ids([1, 2, 4])),
            change(ChangeKind::Deliveries, None, 0, vec![]),
            change(ChangeKind::Entries, Some(FeedId(8)), 1, ids([3])),
        ];
        assert_eq!(log.take(), expect);
        assert!(log.is_empty());
    }

    #[test]
    fn a1_changes_of_two_accounts_are_two() {
        let mut log = ChangeLog::default();
        for account in [1, 2, 1] {
            log.marks(AccountId(account), Some(FEED), 1, ids([account]));
        }
        let accounts: Vec<_> = log.take().into_iter().map(|change| (change.account_id, change.count)).collect();
        assert_eq!(accounts, [(Some(AccountId(1)), 1), (Some(AccountId(2)), 1)]);
    }

    #[test]
    fn u2_what_is_undone_leaves_what_was_before() {
        let mut log = ChangeLog::default();
        log.entries(FEED, ids([1]));
        let mark = log.mark();
        log.entries(FEED, ids([2]));
        log.webhooks(AccountId(1));
        log.undo_to(mark);
        assert_eq!(log.take(), [change(ChangeKind::Entries, Some(FEED), 1, ids([1]))]);
    }

    #[test]
    fn u2_many_entries_are_counted_not_listed() {
        let many = i64::try_from(ENTRIES_LISTED_MAX).unwrap();
        for (first, second, expect) in [
            (0..many, 0..0, (100, ENTRIES_LISTED_MAX)),
            (0..many, 0..1, (100, ENTRIES_LISTED_MAX)),
            (0..many, many..many + 1, (101, 0)),
            (0..many + 1, 0..1, (102, 0)),
        ] {
            let mut log = ChangeLog::default();
            for entries in [ids(first), ids(second)] {
                log.marks(AccountId(1), None, u64::try_from(entries.len()).unwrap(), entries);
            }
            let taken = log.take();
            assert_eq!((taken[0].count, taken[0].entries.len()), expect);
        }
    }

    #[test]
    fn u2_many_feeds_are_one_change() {
        let many = i64::try_from(FEEDS_NAMED_MAX).unwrap();
        let mut log = ChangeLog::default();
        for feed in 0..many {
            log.subscription(Some(FeedId(feed)));
        }
        log.feed(FEED);
        assert_eq!(log.clone().take().len(), FEEDS_NAMED_MAX + 1);
        log.subscription(Some(FeedId(many)));
        let expect =
            [change(ChangeKind::Subscription, None, 0, vec![]), change(ChangeKind::Feed, Some(FEED), 0, vec![])];
        assert_eq!(log.take(), expect);
    }
}
