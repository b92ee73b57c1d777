//! S1 and S4: entries in the order of their receipt, their ids alone, and the newest unread of each feed.

use std::time::Duration;

use domain::{
    EntryFilter, EntryId, EntryPatch, FeedId, FolderId,
    entry::{EntryIdPage, Order, Since},
    ingest::IncomingEntry,
};
use jiff::Timestamp;

use super::{
    Harness,
    given::{entry, entry_at, titles},
    paging::walk,
};

contract! {
    s1_streams_go_by_the_time_of_receipt,
    s1_ids_are_those_of_the_pages,
    s1_whoever_follows_later_has_received_all_then,
    s1_newest_unread_of_each_feed,
}

const SECOND: Duration = Duration::from_secs(1);
const ALL: Option<Since> = Some(Since::Received(Timestamp::MIN));

/// Three feeds, two of them in a folder, polled in turn: what comes later is dated earlier. Every fifth is read, every
/// fourth starred.
async fn filled(harness: &Harness) -> (Vec<FeedId>, FolderId) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let mut feeds = Vec::new();
    for number in 0..3 {
        let id = harness.add(&format!("http://e.org/{number}"), vec![]).await;
        if number > 0 {
            let patch = domain::FeedPatch { folder_id: Some(Some(folder)), ..domain::FeedPatch::default() };
            harness.update(id, patch).await;
        }
        feeds.push(id);
    }
    let mut known: Vec<Vec<IncomingEntry>> = vec![Vec::new(); 3];
    for (number, age) in (0..24_usize).zip(0_i64..) {
        harness.advance(SECOND).await;
        let feed = number % 3;
        known[feed].push(entry_at(&number.to_string(), harness.after(-1000 * age)));
        harness.poll(feeds[feed], known[feed].clone()).await;
        harness.patch(&number.to_string(), Some(number % 5 == 0), Some(number % 4 == 0)).await;
    }
    (feeds, folder)
}

async fn s1_streams_go_by_the_time_of_receipt(harness: &Harness) {
    let (feeds, folder) = filled(harness).await;
    let of = |wanted: fn(u32) -> bool| (0..24).filter(move |number| wanted(*number)).map(|number| number.to_string());
    let all = EntryFilter { since: ALL, ..EntryFilter::default() };
    for (filter, expect) in [
        (all.clone(), of(|_| true).collect::<Vec<_>>()),
        (EntryFilter { feed_id: Some(feeds[1]), ..all.clone() }, of(|n| n % 3 == 1).collect()),
        (EntryFilter { folder_id: Some(folder), ..all.clone() }, of(|n| n % 3 > 0).collect()),
        (EntryFilter { unread: Some(true), ..all.clone() }, of(|n| n % 5 > 0).collect()),
        (EntryFilter { unread: Some(false), ..all.clone() }, of(|n| n % 5 == 0).collect()),
        (
            EntryFilter { unread: Some(true), feed_id: Some(feeds[0]), ..all.clone() },
            of(|n| n % 5 > 0 && n % 3 == 0).collect(),
        ),
        (
            EntryFilter { unread: Some(false), feed_id: Some(feeds[0]), ..all.clone() },
            of(|n| n % 5 == 0 && n % 3 == 0).collect(),
        ),
        (
            EntryFilter { unread: Some(true), folder_id: Some(folder), ..all.clone() },
            of(|n| n % 5 > 0 && n % 3 > 0).collect(),
        ),
        (EntryFilter { starred: Some(true), ..all.clone() }, of(|n| n % 4 == 0).collect()),
        (
            EntryFilter { starred: Some(true), feed_id: Some(feeds[2]), ..all },
            of(|n| n % 4 == 0 && n % 3 == 2).collect(),
        ),
    ] {
        let oldest = EntryFilter { order: Order::Oldest, ..filter.clone() };
        for limit in [1, 3, 50] {
            assert_eq!(titles(&walk(harness, &oldest, limit).await), expect, "{oldest:?}");
            let mut newest = walk(harness, &filter, limit).await;
            newest.reverse();
            assert_eq!(titles(&newest), expect, "{filter:?}");
        }
    }
}

async fn s1_ids_are_those_of_the_pages(harness: &Harness) {
    let (feeds, folder) = filled(harness).await;
    let middle = harness.entry("12").await.received_at;
    let mut checked = 0;
    for since in [None, ALL, Some(Since::Received(middle)), Some(Since::Changed(middle))] {
        for until in [None, Some(middle), Some(harness.now())] {
            for (feed_id, folder_id) in [(None, None), (Some(feeds[1]), None), (None, Some(folder))] {
                for (unread, starred) in [(None, None), (Some(true), None), (Some(false), None), (None, Some(true))] {
                    for order in [Order::Newest, Order::Oldest] {
                        let rest = EntryFilter::default();
                        let filter = EntryFilter { since, until, feed_id, folder_id, unread, starred, order, ..rest };
                        checked += check_ids(harness, &filter, middle).await;
                    }
                }
            }
        }
    }
    assert!(checked > 500, "{checked}");
    let search = domain::Search::parse("12").unwrap();
    let found = harness.store.entry_ids(&EntryFilter { search, ..EntryFilter::default() }, 5, None).await.unwrap();
    assert_eq!(found.ids, [harness.entry("12").await.id]);
}

/// Pages of ids are pages of the same entries, and all are within the times. Returns how many.
async fn check_ids(harness: &Harness, filter: &EntryFilter, middle: Timestamp) -> usize {
    let whole = walk(harness, filter, 100).await;
    if let Some(Since::Received(since)) = filter.since {
        let until = filter.until.unwrap_or(Timestamp::MAX);
        assert!(whole.iter().all(|entry| (since..=until).contains(&entry.received_at)), "{filter:?}");
        let holds_middle = filter.feed_id.is_none() && filter.folder_id.is_none() && filter.unread != Some(false);
        assert_eq!(whole.iter().any(|entry| entry.received_at == middle), holds_middle, "{filter:?}");
    }
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page: EntryIdPage = harness.store.entry_ids(filter, 5, after).await.unwrap();
        assert!(page.ids.len() <= 5);
        ids.extend(page.ids);
        after = page.next_cursor;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(ids, whole.iter().map(|entry| entry.id).collect::<Vec<EntryId>>(), "{filter:?}");
    whole.len()
}

async fn s1_whoever_follows_later_has_received_all_then(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("a"), entry("b")]).await;
    harness.advance(SECOND).await;
    harness.poll(id, vec![entry("a"), entry("b"), entry("c")]).await;
    let other = harness.account("ann").await;
    other.advance(SECOND).await;
    other.follow("http://e.org/1").await;
    let followed_at = other.now();
    other.advance(SECOND).await;
    other.poll(id, vec![entry("a"), entry("b"), entry("c"), entry("d")]).await;
    let of_feed = EntryFilter { since: ALL, feed_id: Some(id), ..EntryFilter::default() };
    let all = EntryFilter { since: ALL, ..EntryFilter::default() };
    let found = walk(&other, &of_feed, 1).await;
    assert_eq!(found, walk(&other, &all, 1).await, "the order of a feed is that of its ids");
    assert_eq!(found.iter().filter(|entry| entry.received_at == followed_at).count(), 3);
    let since = Some(Since::Received(followed_at));
    assert_eq!(walk(&other, &EntryFilter { since, ..of_feed.clone() }, 2).await.len(), 4);
    assert_eq!(walk(harness, &EntryFilter { since, ..of_feed }, 2).await.len(), 1);
}

async fn s1_newest_unread_of_each_feed(harness: &Harness) {
    let (feeds, _) = filled(harness).await;
    // Of the first feed 21 is the last, of the second 22, of the third 23.
    let at = async |guid: &str| harness.entry(guid).await.received_at;
    let expect = vec![(feeds[0], at("21").await), (feeds[1], at("22").await), (feeds[2], at("23").await)];
    assert_eq!(harness.store.newest_unread().await.unwrap(), expect);
    harness.patch("22", Some(true), None).await;
    let read = EntryPatch { is_read: Some(true), is_starred: None };
    let of_third = EntryFilter { feed_id: Some(feeds[2]), ..EntryFilter::default() };
    let ids: Vec<_> = harness.entries(of_third).await.iter().map(|entry| entry.id).collect();
    harness.store.patch_entries(&ids, read).await.unwrap();
    let expect = vec![(feeds[0], at("21").await), (feeds[1], at("19").await)];
    assert_eq!(harness.store.newest_unread().await.unwrap(), expect);
}
