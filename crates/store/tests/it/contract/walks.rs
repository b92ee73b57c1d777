//! F6 and U8: entries oldest first, by ids, received or changed since a time; pages that end at so many bytes; many marked
//! at once.

use std::time::Duration;

use domain::{
    Entry, EntryFilter, EntryId, EntryPatch,
    entry::{Order, PAGE_TEXT_BYTES_MAX, PAGE_WALK_MAX, Since},
    ingest::IncomingEntry,
    ports::MarkRead,
};

use super::{
    Harness,
    given::{entry, entry_at, titles, version},
    paging::walk,
};

contract! {
    u8_a_page_ends_at_so_many_bytes,
    u8_a_page_of_a_search_ends_at_so_many_bytes,
    u8_one_entry_is_always_on_the_page,
    u8_a_page_without_texts_reads_none,
    f6_oldest_first_is_the_other_way_round,
    f6_entries_are_found_by_their_ids,
    f6_entries_received_since_a_time,
    f6_entries_changed_since_a_time,
    f6_a_page_since_a_time_looks_at_so_many_and_goes_on,
    f6_many_are_marked_at_once,
}

const SECOND: Duration = Duration::from_secs(1);
const READ: EntryPatch = EntryPatch { is_read: Some(true), is_starred: None };
const STARRED: EntryPatch = EntryPatch { is_read: None, is_starred: Some(true) };

/// An entry with a content of so many bytes.
fn large(guid: &str, bytes: usize) -> IncomingEntry {
    IncomingEntry { content: Some("x".repeat(bytes)), search_text: "word".to_owned(), ..entry(guid) }
}

fn with_texts(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| entry.content.as_ref().map_or(0, String::len)).sum()
}

/// Follows the cursors; no page has more text than it may, and each has something.
async fn pages(harness: &Harness, filter: &EntryFilter) -> Vec<Vec<Entry>> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = harness.store.entries(filter, 500, after).await.unwrap();
        assert!(page.entries.len() == 1 || with_texts(&page.entries) <= PAGE_TEXT_BYTES_MAX);
        after = page.next_cursor;
        pages.push(page.entries);
        if after.is_none() {
            return pages;
        }
    }
}

async fn u8_a_page_ends_at_so_many_bytes(harness: &Harness) {
    let sizes = [1, 1, 3, 1, 5, 1, 1].map(|quarters| quarters * PAGE_TEXT_BYTES_MAX / 4 - 1000);
    let entries = sizes.iter().enumerate().map(|(number, bytes)| large(&number.to_string(), *bytes)).collect();
    let id = harness.add("http://e.org/1", entries).await;
    let of_feed = EntryFilter { feed_id: Some(id), ..EntryFilter::default() };
    let since = EntryFilter { since: Some(Since::Received(harness.now())), ..of_feed.clone() };
    for filter in [EntryFilter::default(), of_feed, since] {
        let found = pages(harness, &filter).await;
        let found: Vec<_> = found.iter().map(|page| titles(page).join(" ")).collect();
        assert_eq!(found, ["0 1", "2 3", "4", "5 6"], "{filter:?}");
        let oldest = EntryFilter { order: Order::Oldest, ..filter };
        let found = pages(harness, &oldest).await;
        let found: Vec<_> = found.iter().map(|page| titles(page).join(" ")).collect();
        assert_eq!(found, ["6 5", "4", "3 2", "1 0"], "{oldest:?}");
    }
    let ids = harness.store.entries(&EntryFilter { without_texts: true, ..EntryFilter::default() }, 500, None).await;
    let ids = Some(ids.unwrap().entries.iter().map(|entry| entry.id).collect());
    let found = pages(harness, &EntryFilter { ids, ..EntryFilter::default() }).await;
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1, 2]);
}

async fn u8_a_page_of_a_search_ends_at_so_many_bytes(harness: &Harness) {
    let entries = (0..9).map(|number| large(&number.to_string(), PAGE_TEXT_BYTES_MAX / 2 - 1000)).collect();
    harness.add("http://e.org/1", entries).await;
    for order in [Order::Newest, Order::Oldest] {
        let filter = EntryFilter { search: domain::Search::parse("word").unwrap(), order, ..EntryFilter::default() };
        let found = pages(harness, &filter).await;
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2, 2, 1]);
        let mut found: Vec<_> = found.iter().flat_map(|page| titles(page)).collect();
        if order == Order::Oldest {
            found.reverse();
        }
        assert_eq!(found.join(""), "012345678");
    }
}

async fn u8_one_entry_is_always_on_the_page(harness: &Harness) {
    // Every text counts, not the content alone.
    let mut first = large("first", 10);
    first.title = Some("t".repeat(PAGE_TEXT_BYTES_MAX));
    first.summary = Some("s".repeat(PAGE_TEXT_BYTES_MAX));
    harness.add("http://e.org/1", vec![first, entry("second")]).await;
    let page = harness.store.entries(&EntryFilter::default(), 50, None).await.unwrap();
    assert_eq!(page.entries.len(), 1);
    let page = harness.store.entries(&EntryFilter::default(), 50, page.next_cursor).await.unwrap();
    assert_eq!((titles(&page.entries), page.next_cursor), (vec!["second"], None));
}

async fn u8_a_page_without_texts_reads_none(harness: &Harness) {
    let entries = (0..8).map(|number| large(&number.to_string(), PAGE_TEXT_BYTES_MAX / 2)).collect();
    harness.add("http://e.org/1", entries).await;
    let search = domain::Search::parse("word").unwrap();
    for filter in [EntryFilter::default(), EntryFilter { search, ..EntryFilter::default() }] {
        let filter = EntryFilter { without_texts: true, ..filter };
        let page = harness.store.entries(&filter, 50, None).await.unwrap();
        assert_eq!((page.entries.len(), page.next_cursor), (8, None));
        assert!(page.entries.iter().all(|entry| entry.content.is_none() && entry.summary.is_none()));
        assert_eq!(titles(&page.entries).join(""), "01234567");
    }
}

async fn f6_oldest_first_is_the_other_way_round(harness: &Harness) {
    let entries = (0..23).map(|number| entry_at(&number.to_string(), harness.after(-(number / 5)))).collect();
    let id = harness.add("http://e.org/1", entries).await;
    for filter in [
        EntryFilter::default(),
        EntryFilter { feed_id: Some(id), ..EntryFilter::default() },
        EntryFilter { unread: Some(true), ..EntryFilter::default() },
        EntryFilter { starred: Some(false), ..EntryFilter::default() },
    ] {
        let mut newest = harness.entries(filter.clone()).await;
        newest.reverse();
        let oldest = EntryFilter { order: Order::Oldest, ..filter };
        for limit in [1, 7, 22, 23, 24] {
            assert_eq!(walk(harness, &oldest, limit).await, newest, "{limit}");
        }
    }
    // What comes in while it is walked is newer, and there at its end.
    let oldest = EntryFilter { order: Order::Oldest, ..EntryFilter::default() };
    let page = harness.store.entries(&oldest, 20, None).await.unwrap();
    harness.advance(SECOND).await;
    harness.poll(id, vec![entry("new")]).await;
    let page = harness.store.entries(&oldest, 20, page.next_cursor).await.unwrap();
    assert_eq!(page.entries.len(), 4);
    assert_eq!(page.entries[3].title.as_deref(), Some("new"));
}

async fn f6_entries_are_found_by_their_ids(harness: &Harness) {
    let entries = (0..9).map(|number| entry_at(&number.to_string(), harness.after(-number))).collect();
    harness.add("http://e.org/1", entries).await;
    let mut ids: Vec<EntryId> = harness.all().await.iter().step_by(2).map(|entry| entry.id).collect();
    ids.push(EntryId(999));
    ids.reverse();
    let filter = EntryFilter { ids: Some(ids), ..EntryFilter::default() };
    assert_eq!(titles(&harness.entries(filter.clone()).await), ["0", "2", "4", "6", "8"]);
    assert_eq!(titles(&walk(harness, &filter, 2).await), ["0", "2", "4", "6", "8"]);
    let oldest = EntryFilter { order: Order::Oldest, ..filter };
    assert_eq!(titles(&walk(harness, &oldest, 2).await), ["8", "6", "4", "2", "0"]);
    let none = EntryFilter { ids: Some(vec![]), ..EntryFilter::default() };
    assert_eq!(harness.entries(none).await, []);
}

async fn f6_entries_received_since_a_time(harness: &Harness) {
    let mut known = vec![entry("1"), entry("2")];
    let id = harness.add("http://e.org/1", known.clone()).await;
    harness.advance(SECOND).await;
    let since = harness.now();
    // Received later, though published before.
    known.push(entry_at("late", harness.after(-1000)));
    harness.poll(id, known.clone()).await;
    harness.advance(SECOND).await;
    known.push(entry("new"));
    harness.poll(id, known).await;
    let filter = EntryFilter { since: Some(Since::Received(since)), ..EntryFilter::default() };
    let oldest = EntryFilter { order: Order::Oldest, ..filter.clone() };
    for limit in [1, 2, 3] {
        assert_eq!(titles(&walk(harness, &filter, limit).await), ["new", "late"]);
        assert_eq!(titles(&walk(harness, &oldest, limit).await), ["late", "new"]);
    }
    let late = harness.entry("late").await.id;
    harness.store.patch_entry(late, READ).await.unwrap();
    let unread = EntryFilter { unread: Some(true), feed_id: Some(id), ..oldest };
    assert_eq!(titles(&walk(harness, &unread, 1).await), ["new"]);
    let after = EntryFilter { since: Some(Since::Received(harness.after(1))), ..filter };
    assert_eq!(harness.entries(after).await, []);
}

async fn f6_entries_changed_since_a_time(harness: &Harness) {
    let known = ["read", "many", "starred", "changed", "all", "same"].map(entry).to_vec();
    let id = harness.add("http://e.org/1", known.clone()).await;
    harness.advance(SECOND).await;
    let since = harness.now();
    let filter = EntryFilter { since: Some(Since::Changed(since)), order: Order::Oldest, ..EntryFilter::default() };
    let same = harness.entry("same").await.id;
    for patch in [EntryPatch::default(), EntryPatch { is_read: Some(false), is_starred: Some(false) }] {
        harness.store.patch_entry(same, patch).await.unwrap();
        assert_eq!(harness.store.patch_entries(&[same], patch).await, Ok(0));
    }
    harness.poll(id, known.clone()).await;
    assert_eq!(harness.entries(filter.clone()).await, [], "nothing has changed");

    let id_of = async |guid: &str| harness.entry(guid).await.id;
    harness.store.patch_entry(id_of("read").await, READ).await.unwrap();
    harness.advance(SECOND).await;
    harness.store.patch_entries(&[id_of("many").await], READ).await.unwrap();
    harness.advance(SECOND).await;
    harness.store.patch_entry(id_of("starred").await, STARRED).await.unwrap();
    harness.store.patch_entry(same, READ).await.unwrap();
    harness.advance(SECOND).await;
    let mut changed = known;
    changed[3] = version("changed", "other");
    changed.push(entry("new"));
    harness.poll(id, changed).await;
    assert_eq!(titles(&walk(harness, &filter, 2).await), ["read", "many", "same", "starred", "other", "new"]);
    harness.advance(SECOND).await;
    let last = harness.now();
    assert_eq!(harness.store.mark_read(MarkRead::default()).await, Ok(4));
    let last = EntryFilter { since: Some(Since::Changed(last)), ..filter };
    assert_eq!(walk(harness, &last, 2).await.len(), 4);
    // A clock that goes back takes nothing from what is to be found.
    harness.set(harness.after(-1000)).await;
    harness.store.patch_entry(id_of("all").await, STARRED).await.unwrap();
    assert_eq!(walk(harness, &last, 2).await.len(), 4);
}

async fn f6_a_page_since_a_time_looks_at_so_many_and_goes_on(harness: &Harness) {
    let count = i64::from(PAGE_WALK_MAX) + 200;
    let entries = (0..count).map(|number| entry_at(&number.to_string(), harness.after(-number))).collect();
    harness.add("http://e.org/1", entries).await;
    let [first, last] = [0, count - 1].map(|number| number.to_string());
    let mut ids = Vec::new();
    for (guid, order) in [(&first, Order::Newest), (&last, Order::Oldest)] {
        let page = harness.store.entries(&EntryFilter { order, ..EntryFilter::default() }, 1, None).await.unwrap();
        assert_eq!(&page.entries[0].guid, guid);
        ids.push(page.entries[0].id);
    }
    harness.store.patch_entries(&ids, STARRED).await.unwrap();
    for order in [Order::Newest, Order::Oldest] {
        let since = Some(Since::Changed(harness.now()));
        let filter = EntryFilter { since, order, starred: Some(true), without_texts: true, ..EntryFilter::default() };
        let page = harness.store.entries(&filter, 50, None).await.unwrap();
        assert_eq!(page.entries.len(), 1);
        assert!(page.next_cursor.is_some(), "the walk is not at its end");
        let page = harness.store.entries(&filter, 50, page.next_cursor).await.unwrap();
        assert_eq!((page.entries.len(), page.next_cursor), (1, None));
        let none = EntryFilter { unread: Some(false), ..filter };
        assert_eq!(walk(harness, &none, 50).await, []);
    }
}

async fn f6_many_are_marked_at_once(harness: &Harness) {
    let one = harness.add("http://e.org/1", ["1", "2", "3"].map(entry).to_vec()).await;
    let two = harness.add("http://e.org/2", ["4", "5"].map(entry).to_vec()).await;
    let mut ids: Vec<EntryId> = harness.all().await.iter().map(|entry| entry.id).collect();
    ids.push(EntryId(999));
    let unread = async || [harness.unread_of(one).await, harness.unread_of(two).await];
    assert_eq!(harness.store.patch_entries(&ids[..2], READ).await, Ok(2));
    let both = EntryPatch { is_read: Some(true), is_starred: Some(true) };
    assert_eq!(harness.store.patch_entries(&ids, both).await, Ok(5));
    assert_eq!(unread().await, [0, 0]);
    assert_eq!(harness.store.counts().await.unwrap().starred, 5);
    assert_eq!(harness.store.patch_entries(&ids, both).await, Ok(0));
    let not = EntryPatch { is_read: Some(false), is_starred: None };
    assert_eq!(harness.store.patch_entries(&[ids[0], ids[0], ids[4]], not).await, Ok(2));
    let counts = harness.store.counts().await.unwrap();
    assert_eq!((counts.total, counts.starred, unread().await.iter().sum::<u64>()), (2, 5, 2));
    assert_eq!(harness.store.patch_entries(&[], not).await, Ok(0));
    assert_eq!(harness.store.patch_entries(&[EntryId(999)], not).await, Ok(0));
}
