//! What an account follows, and what is unread in it: as the store keeps it, read with what has changed.

use std::collections::{BTreeMap, HashMap};

use domain::{
    FeedId, FolderId,
    entry::{AccountCounts, FollowCount},
};

use super::{event::CountsData, pending::Feeds};

#[derive(Debug, Default)]
pub(super) struct Follows {
    feeds: HashMap<FeedId, (Option<FolderId>, u64)>,
    starred: u64,
}

impl Follows {
    /// Of all that the account follows.
    pub(super) fn new(counts: &AccountCounts) -> Self {
        let mut follows = Self::default();
        follows.update(counts);
        follows
    }

    pub(super) fn has(&self, feed: FeedId) -> bool {
        self.feeds.contains_key(&feed)
    }

    /// Some of it is now so.
    pub(super) fn update(&mut self, counts: &AccountCounts) {
        self.starred = counts.starred;
        for FollowCount { feed_id, folder_id, unread } in &counts.follows {
            self.feeds.insert(*feed_id, (*folder_id, *unread));
        }
    }

    /// How many more entries are unread than before, in feeds where they are more.
    pub(super) fn risen_since(&self, before: &Self) -> u64 {
        let risen = self.feeds.iter().map(|(feed, (_, unread))| {
            let known = before.feeds.get(feed).map_or(0, |(_, unread)| *unread);
            unread.saturating_sub(known)
        });
        risen.sum()
    }

    /// The counts of these feeds and of their folders, and of all together.
    pub(super) fn counts(&self, of: &Feeds) -> CountsData {
        let is_of = |feed: &FeedId| match of {
            Feeds::None => false,
            Feeds::These(these) => these.contains(feed),
            Feeds::Several => true,
        };
        let named: Vec<_> = self.feeds.iter().filter(|(feed, _)| is_of(feed)).collect();
        let by_feed = named.iter().map(|(feed, (_, unread))| (**feed, *unread)).collect();
        let mut by_folder: BTreeMap<FolderId, u64> =
            named.iter().filter_map(|(_, (folder, _))| folder.map(|folder| (folder, 0))).collect();
        let mut total = 0;
        for (folder, unread) in self.feeds.values() {
            total += unread;
            if let Some(in_folder) = folder.as_ref().and_then(|folder| by_folder.get_mut(folder)) {
                *in_folder += unread;
            }
        }
        CountsData { total, starred: self.starred, by_folder, by_feed }
    }
}

#[cfg(test)]
mod tests {
    use domain::AccountId;

    use super::*;

    fn follows(rows: &[(i64, Option<i64>, u64)]) -> Follows {
        let follow = |(feed, folder, unread): &(i64, Option<i64>, u64)| FollowCount {
            feed_id: FeedId(*feed),
            folder_id: folder.map(FolderId),
            unread: *unread,
        };
        let follows = rows.iter().map(follow).collect();
        Follows::new(&AccountCounts { account_id: AccountId(1), starred: 3, follows })
    }

    #[test]
    fn u2_counts_name_what_has_changed_and_the_sums() {
        let follows = follows(&[(1, Some(7), 2), (2, Some(7), 3), (3, Some(8), 4), (4, None, 5)]);
        for (of, expect) in [
            (Feeds::These([FeedId(1)].into()), (vec![(1, 2)], vec![(7, 5)])),
            (Feeds::These([FeedId(4), FeedId(9)].into()), (vec![(4, 5)], vec![])),
            (Feeds::None, (vec![], vec![])),
            (Feeds::Several, (vec![(1, 2), (2, 3), (3, 4), (4, 5)], vec![(7, 5), (8, 4)])),
        ] {
            let counts = follows.counts(&of);
            let by_feed: Vec<_> = counts.by_feed.iter().map(|(feed, unread)| (feed.0, *unread)).collect();
            let by_folder: Vec<_> = counts.by_folder.iter().map(|(folder, unread)| (folder.0, *unread)).collect();
            assert_eq!(((by_feed, by_folder), counts.total, counts.starred), (expect, 14, 3), "{of:?}");
        }
    }

    #[test]
    fn u2_only_what_rose_is_new() {
        let before = follows(&[(1, None, 5), (2, None, 1)]);
        assert_eq!(follows(&[(1, None, 2), (2, None, 4), (3, None, 2)]).risen_since(&before), 5);
    }
}
