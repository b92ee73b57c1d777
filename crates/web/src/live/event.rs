//! Events as they are sent: each a name, an id and JSON.

use std::{collections::BTreeMap, fmt::Write as _};

use bytes::Bytes;
use domain::{
    EntryId, FeedId, FolderId,
    changes::{ChangeNumber, ENTRIES_LISTED_MAX},
};
use serde::Serialize;

use super::{
    follows::Follows,
    pending::{Entries, Feeds, Pending},
};

/// Unread entries in all and of what has changed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CountsData {
    pub(super) total: u64,
    pub(super) starred: u64,
    pub(super) by_folder: BTreeMap<FolderId, u64>,
    pub(super) by_feed: BTreeMap<FeedId, u64>,
}

/// Entries that came, changed or were marked.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EntriesData {
    #[serde(flatten)]
    feeds: FeedsData,
    count: u64,
    /// Empty if they are many.
    ids: Vec<EntryId>,
}

/// Feeds that something is about.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FeedsData {
    /// If it is one.
    feed_id: Option<FeedId>,
    /// Empty if they are many.
    feed_ids: Vec<FeedId>,
}

impl From<&Feeds> for FeedsData {
    fn from(feeds: &Feeds) -> Self {
        let feed_ids: Vec<FeedId> = match feeds {
            Feeds::These(these) => these.iter().copied().collect(),
            Feeds::None | Feeds::Several => Vec::new(),
        };
        Self { feed_id: (feed_ids.len() == 1).then(|| feed_ids[0]), feed_ids }
    }
}

#[derive(Debug, Serialize)]
struct Nothing {}

/// Events that are told together.
#[derive(Debug, Default)]
pub(super) struct Group(Vec<(&'static str, String)>);

impl Group {
    /// What is pending, with the counts as they are now, and how many more entries are unread that nobody named.
    pub(super) fn of(pending: &Pending, follows: &Follows, unnamed: u64) -> Self {
        let mut group = Self::default();
        group.add_entries(pending, unnamed);
        if !pending.marked_in.is_none() {
            let (count, ids) = (pending.marks.count(), pending.marks.ids());
            group.add("marks", &EntriesData { feeds: (&pending.marked_in).into(), count, ids });
        }
        for (name, feeds) in [("feed", pending.changed_feeds()), ("subscription", pending.subscriptions.clone())] {
            if !feeds.is_none() {
                group.add(name, &FeedsData::from(&feeds));
            }
        }
        if pending.has_deliveries {
            group.add("delivery", &Nothing {});
        }
        if !pending.counted.is_none() {
            group.add("counts", &follows.counts(&pending.counted));
        }
        group
    }

    /// What was changed is not known: everything is to be loaded anew.
    pub(super) fn reset() -> Self {
        let mut group = Self::default();
        group.add("reset", &Nothing {});
        group
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn add_entries(&mut self, pending: &Pending, unnamed: u64) {
        let mut entries = Entries::default();
        pending.entries.values().for_each(|of_feed| entries.merge(of_feed));
        let mut feeds = FeedsData { feed_id: None, feed_ids: pending.entries.keys().copied().collect() };
        if pending.has_unnamed_entries && unnamed > entries.count() {
            entries = Entries::default();
            entries.add(unnamed, &[]);
            feeds.feed_ids.clear();
        }
        feeds.feed_id = (feeds.feed_ids.len() == 1).then(|| feeds.feed_ids[0]);
        if entries.count() > 0 {
            let mut ids = entries.ids();
            ids.truncate(ENTRIES_LISTED_MAX);
            self.add("entries", &EntriesData { feeds, count: entries.count(), ids });
        }
    }

    fn add(&mut self, name: &'static str, data: &impl Serialize) {
        // Maps of numbers and lists of numbers: there is nothing that JSON has not.
        self.0.push((name, serde_json::to_string(data).unwrap_or_default()));
    }

    /// As it is sent. Only with the last of them is everything told up to `to`.
    pub(super) fn write(&self, from: ChangeNumber, to: ChangeNumber) -> Bytes {
        let mut text = String::new();
        for (place, (name, data)) in self.0.iter().enumerate() {
            let id = if place + 1 == self.0.len() { to } else { from };
            // Writing to a string cannot fail.
            let _ = write!(text, "event: {name}\nid: {id}\ndata: {data}\n\n");
        }
        Bytes::from(text)
    }
}

/// Keeps proxies from closing what is quiet, and tells how far everything was told: no event, but its id counts.
pub(super) fn comment(number: ChangeNumber) -> Bytes {
    Bytes::from(format!(":\nid: {number}\n\n"))
}

/// The same as an event, so that scripts hear it: a browser tells them of no comment, and a connection can die silently.
pub(super) fn heartbeat(number: ChangeNumber) -> Bytes {
    Bytes::from(format!(":\nevent: heartbeat\nid: {number}\ndata: {{}}\n\n"))
}

#[cfg(test)]
mod tests {
    use domain::{
        AccountId,
        changes::{Change, ChangeKind},
    };
    use jiff::Timestamp;

    use super::*;
    use crate::live::Audience;

    fn change(kind: ChangeKind, account: Option<i64>, feed: Option<i64>, ids: &[i64]) -> Change {
        Change {
            number: ChangeNumber(1),
            kind,
            account_id: account.map(AccountId),
            feed_id: feed.map(FeedId),
            count: u64::try_from(ids.len()).unwrap(),
            entries: ids.iter().copied().map(EntryId).collect(),
            at: Timestamp::UNIX_EPOCH,
        }
    }

    fn follows() -> Follows {
        let follow = |feed| domain::entry::FollowCount { feed_id: FeedId(feed), folder_id: None, unread: 1 };
        let follows = vec![follow(5), follow(6)];
        Follows::new(&domain::entry::AccountCounts { account_id: AccountId(1), starred: 0, follows })
    }

    /// What account 1 is told of these changes.
    fn told(changes: &[Change], sees_server: bool) -> String {
        let (audience, follows) = (Audience { account: AccountId(1), sees_server }, follows());
        let mut pending = Pending::default();
        for change in changes {
            pending.note(change, audience, Some(&follows));
        }
        let bytes = Group::of(&pending, &follows, 0).write(ChangeNumber(3), ChangeNumber(9));
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn u2_heartbeats_are_comments_and_events() {
        let bytes = heartbeat(ChangeNumber(9));
        assert_eq!(bytes.as_ref(), b":\nevent: heartbeat\nid: 9\ndata: {}\n\n");
    }

    #[test]
    fn u2_changes_are_put_together_and_the_last_has_the_number() {
        let entries = |feed, ids: &[i64]| change(ChangeKind::Entries, None, Some(feed), ids);
        assert_eq!(
            told(&[entries(5, &[1]), entries(5, &[1, 2])], false),
            "event: entries\nid: 3\ndata: {\"feedId\":5,\"feedIds\":[5],\"count\":2,\"ids\":[1,2]}\n\n\
             event: counts\nid: 9\ndata: {\"total\":2,\"starred\":0,\"byFolder\":{},\"byFeed\":{\"5\":1}}\n\n"
        );
        let several = told(&[entries(5, &[1]), entries(6, &[2])], false);
        assert!(several.contains("{\"feedId\":null,\"feedIds\":[5,6],\"count\":2,\"ids\":[1,2]}"), "{several}");
        let many: Vec<i64> = (0..60).collect();
        let others: Vec<i64> = (60..120).collect();
        let many = told(&[entries(5, &many), entries(6, &others)], false);
        assert!(many.contains("\"count\":120,\"ids\":[]"), "{many}");
    }

    #[test]
    fn u2_a1_nobody_hears_what_is_anothers() {
        for (change, own, server) in [
            (change(ChangeKind::Entries, None, Some(7), &[1]), "", ""),
            (change(ChangeKind::Entries, None, None, &[]), "counts", "counts"),
            (change(ChangeKind::Marks, Some(2), Some(5), &[1]), "", ""),
            (change(ChangeKind::Marks, Some(1), Some(5), &[1]), "marks counts", "marks counts"),
            (change(ChangeKind::Feed, None, Some(5), &[]), "feed", "feed"),
            (change(ChangeKind::Feed, None, Some(7), &[]), "", "feed"),
            (change(ChangeKind::Feed, Some(2), Some(5), &[]), "", ""),
            (change(ChangeKind::Feeds, Some(1), None, &[]), "feed counts", "feed counts"),
            (change(ChangeKind::Feeds, Some(2), None, &[]), "", ""),
            (change(ChangeKind::Subscription, None, Some(5), &[]), "subscription", "subscription"),
            (change(ChangeKind::Subscription, None, Some(7), &[]), "", "subscription"),
            (change(ChangeKind::Subscription, None, None, &[]), "", "subscription"),
            (change(ChangeKind::Webhooks, Some(1), None, &[]), "delivery", "delivery"),
            (change(ChangeKind::Webhooks, Some(2), None, &[]), "", "delivery"),
            (change(ChangeKind::Deliveries, None, None, &[]), "", "delivery"),
        ] {
            for (sees_server, expect) in [(false, own), (true, server)] {
                let told = told(std::slice::from_ref(&change), sees_server);
                let names: Vec<_> = told.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
                assert_eq!(names.join(" "), expect, "{change:?} {sees_server}");
            }
        }
    }

    #[test]
    fn u2_what_is_noted_before_the_follows_are_known_is_judged_later() {
        let (audience, follows) = (Audience { account: AccountId(1), sees_server: false }, follows());
        let mut pending = Pending::default();
        for feed in [5, 7] {
            pending.note(&change(ChangeKind::Entries, None, Some(feed), &[feed]), audience, None);
            pending.note(&change(ChangeKind::Subscription, None, Some(feed), &[]), audience, None);
            pending.note(&change(ChangeKind::Feed, None, Some(feed), &[]), audience, None);
        }
        pending.keep_followed(audience, &follows);
        let bytes = Group::of(&pending, &follows, 0).write(ChangeNumber(3), ChangeNumber(9));
        assert!(!String::from_utf8_lossy(&bytes).contains('7'), "{bytes:?}");
    }
}
