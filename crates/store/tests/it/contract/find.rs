//! S2, S3 and S4: entries by the conditions of other readers' programs, compared with what the pages show; what is kept of
//! feeds.

use std::{collections::HashMap, time::Duration};

use domain::{
    Entry, EntryId, FeedId, FeedPatch, FolderId,
    entry::Order,
    entry_query::{Between, EntryQuery, FeedCounter, Place, SortBy},
    ingest::IncomingEntry,
};
use jiff::Timestamp;

use super::{Harness, given::entry_at};

contract! {
    s4_entries_are_found_by_all_their_conditions,
    s4_pages_follow_each_other,
    s4_nothing_of_another_account_is_found,
    s3_feeds_are_counted_as_is_kept,
}

const SECOND: Duration = Duration::from_secs(1);

/// What is known of all entries, and which feeds are in the folder.
struct World {
    entries: Vec<Entry>,
    changed: HashMap<EntryId, Timestamp>,
    feeds: Vec<FeedId>,
    folder: FolderId,
}

/// Three feeds, two of them in a folder, polled in turn: what comes later is dated earlier. Every fifth is read, every
/// fourth starred.
async fn filled(harness: &Harness) -> World {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let mut feeds = Vec::new();
    for number in 0..3 {
        let id = harness.add(&format!("http://e.org/{number}"), vec![]).await;
        if number > 0 {
            harness.update(id, FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() }).await;
        }
        feeds.push(id);
    }
    let mut known: Vec<Vec<IncomingEntry>> = vec![Vec::new(); 3];
    for (number, age) in (0..24_usize).zip(0_i64..) {
        harness.advance(SECOND).await;
        let feed = number % 3;
        known[feed].push(entry_at(&number.to_string(), harness.after(-1000 * age)));
        harness.poll(feeds[feed], known[feed].clone()).await;
    }
    for number in (0..24_usize).rev() {
        harness.advance(SECOND).await;
        harness.patch(&number.to_string(), Some(number % 5 == 0), Some(number % 4 == 0)).await;
    }
    let entries = harness.all().await;
    let ids: Vec<EntryId> = entries.iter().map(|entry| entry.id).collect();
    let changed = harness.store.changed_at(&ids).await.unwrap().into_iter().collect();
    World { entries, changed, feeds, folder }
}

impl World {
    fn folder_of(&self, entry: &Entry) -> Option<FolderId> {
        (entry.feed_id != self.feeds[0]).then_some(self.folder)
    }

    fn meets(&self, entry: &Entry, query: &EntryQuery) -> bool {
        let within = |between: Between, at: Timestamp| {
            between.after.is_none_or(|after| at > after) && between.before.is_none_or(|before| at < before)
        };
        query.feed_id.is_none_or(|feed| feed == entry.feed_id)
            && match query.place {
                None => true,
                Some(Place::Folder(folder)) => self.folder_of(entry) == Some(folder),
                Some(Place::Outside) => self.folder_of(entry).is_none(),
            }
            && query.unread.is_none_or(|unread| unread != entry.is_read)
            && query.starred.is_none_or(|starred| starred == entry.is_starred)
            && query.among.as_ref().is_none_or(|ids| ids.contains(&entry.id))
            && query.after_id.is_none_or(|id| entry.id > id)
            && query.before_id.is_none_or(|id| entry.id < id)
            && within(query.published, entry.sort_at)
            && within(query.changed, self.changed[&entry.id])
    }

    fn expected(&self, query: &EntryQuery) -> Vec<EntryId> {
        let key = |entry: &Entry| match query.by {
            SortBy::Published => entry.sort_at,
            SortBy::Id => Timestamp::UNIX_EPOCH,
            SortBy::Received => entry.received_at,
            SortBy::Changed => self.changed[&entry.id],
        };
        let mut found: Vec<(Timestamp, EntryId)> =
            self.entries.iter().filter(|entry| self.meets(entry, query)).map(|entry| (key(entry), entry.id)).collect();
        found.sort_unstable();
        if query.order == Order::Newest {
            found.reverse();
        }
        found.into_iter().map(|(_, id)| id).collect()
    }

    fn conditions(&self) -> Vec<EntryQuery> {
        let any = EntryQuery::default();
        let middle = self.entries[12].id;
        let changed = self.changed[&middle];
        let published = self.entries[12].sort_at;
        vec![
            any.clone(),
            EntryQuery { unread: Some(true), ..any.clone() },
            EntryQuery { unread: Some(false), ..any.clone() },
            EntryQuery { starred: Some(true), ..any.clone() },
            EntryQuery { starred: Some(false), unread: Some(true), ..any.clone() },
            EntryQuery { feed_id: Some(self.feeds[1]), ..any.clone() },
            EntryQuery { feed_id: Some(self.feeds[1]), unread: Some(true), ..any.clone() },
            EntryQuery { feed_id: Some(self.feeds[1]), place: Some(Place::Outside), ..any.clone() },
            EntryQuery { place: Some(Place::Folder(self.folder)), ..any.clone() },
            EntryQuery { place: Some(Place::Folder(self.folder)), unread: Some(true), ..any.clone() },
            EntryQuery { place: Some(Place::Outside), ..any.clone() },
            EntryQuery { place: Some(Place::Outside), unread: Some(true), ..any.clone() },
            EntryQuery { after_id: Some(middle), ..any.clone() },
            EntryQuery { before_id: Some(middle), unread: Some(true), ..any.clone() },
            EntryQuery { published: Between { after: Some(published), before: None }, ..any.clone() },
            EntryQuery {
                published: Between { after: None, before: Some(published) },
                feed_id: Some(self.feeds[0]),
                ..any.clone()
            },
            EntryQuery { changed: Between { after: Some(changed), before: None }, ..any.clone() },
            EntryQuery { changed: Between { after: None, before: Some(changed) }, ..any.clone() },
            EntryQuery { among: Some(vec![middle, EntryId(1), EntryId(999_999)]), ..any.clone() },
            EntryQuery { among: Some(Vec::new()), ..any },
        ]
    }
}

async fn s4_entries_are_found_by_all_their_conditions(harness: &Harness) {
    let world = filled(harness).await;
    for conditions in world.conditions() {
        for by in [SortBy::Published, SortBy::Id, SortBy::Received, SortBy::Changed] {
            for order in [Order::Newest, Order::Oldest] {
                let query = EntryQuery { by, order, ..conditions.clone() };
                let expect = world.expected(&query);
                let found = harness.store.find_entries(&query, 0, 500).await.unwrap();
                assert_eq!(found, expect, "{query:?}");
                let count = harness.store.count_entries(&query).await.unwrap();
                assert_eq!(count, u64::try_from(expect.len()).unwrap(), "{query:?}");
                let counts = harness.store.counts().await.unwrap();
                assert!(query.kept_count(&counts).is_none_or(|kept| kept == count), "{query:?}");
            }
        }
    }
}

async fn s4_pages_follow_each_other(harness: &Harness) {
    let world = filled(harness).await;
    for by in [SortBy::Published, SortBy::Id] {
        let query = EntryQuery { unread: Some(true), by, ..EntryQuery::default() };
        let expect = world.expected(&query);
        let mut found: Vec<EntryId> = Vec::new();
        for offset in (0..).step_by(7) {
            let page = harness.store.find_entries(&query, offset, 7).await.unwrap();
            found.extend(&page);
            if page.len() < 7 {
                break;
            }
        }
        assert_eq!(found, expect, "{by:?}");
    }
    let after = EntryQuery { by: SortBy::Id, order: Order::Oldest, ..EntryQuery::default() };
    let (mut found, mut last): (Vec<EntryId>, _) = (Vec::new(), EntryId(0));
    loop {
        let query = EntryQuery { after_id: Some(last), ..after.clone() };
        let page = harness.store.find_entries(&query, 0, 5).await.unwrap();
        let Some(next) = page.last() else { break };
        last = *next;
        found.extend(page);
    }
    assert_eq!(found, world.expected(&after));
}

async fn s4_nothing_of_another_account_is_found(harness: &Harness) {
    let world = filled(harness).await;
    let ann = harness.account("ann").await;
    let ids: Vec<EntryId> = world.entries.iter().map(|entry| entry.id).collect();
    for query in world.conditions() {
        assert_eq!(ann.store.find_entries(&query, 0, 500).await.unwrap(), [], "{query:?}");
        assert_eq!(ann.store.count_entries(&query).await.unwrap(), 0, "{query:?}");
    }
    assert_eq!(ann.store.changed_at(&ids).await.unwrap(), []);
    assert_eq!(ann.store.feed_counters().await.unwrap(), []);
    ann.follow("http://e.org/1").await;
    let theirs = ann.store.find_entries(&EntryQuery::default(), 0, 500).await.unwrap();
    assert_eq!(theirs, world.expected(&EntryQuery { feed_id: Some(world.feeds[1]), ..EntryQuery::default() }));
}

async fn s3_feeds_are_counted_as_is_kept(harness: &Harness) {
    let world = filled(harness).await;
    let counters = harness.store.feed_counters().await.unwrap();
    let expect: Vec<_> = world
        .feeds
        .iter()
        .map(|feed| {
            let count = |is_read: Option<bool>| {
                let of = world.entries.iter().filter(|entry| entry.feed_id == *feed);
                u64::try_from(of.filter(|entry| is_read.is_none_or(|is| is == entry.is_read)).count()).unwrap()
            };
            (*feed, count(None), count(Some(false)), count(Some(true)))
        })
        .collect();
    let found: Vec<_> = counters
        .iter()
        .map(|counter| (counter.feed_id, counter.entries, counter.unread, FeedCounter::read(counter)))
        .collect();
    assert_eq!(found, expect);
    assert!(counters.iter().all(|counter| counter.last_fetched_at.is_some()), "{counters:?}");
}
