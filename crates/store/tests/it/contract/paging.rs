//! F6: cursor paging that neither repeats nor skips.

use std::time::Duration;

use domain::{Cursor, Entry, EntryFilter, ingest::IncomingEntry};

use super::{
    Harness,
    given::{entry, entry_at},
};

contract! {
    f6_pages_hold_everything_once,
    f6_the_last_page_says_so,
    f6_pages_neither_repeat_nor_skip_while_entries_come_in,
}

async fn f6_pages_hold_everything_once(harness: &Harness) {
    // Many of the same time, so that pages end among them.
    let entries = (0..57).map(|number| entry_at(&number.to_string(), harness.after(-(number / 10)))).collect();
    let id = harness.add("http://e.org/1", entries).await;
    for filter in [
        EntryFilter::default(),
        EntryFilter { feed_id: Some(id), ..EntryFilter::default() },
        EntryFilter { unread: Some(true), ..EntryFilter::default() },
        EntryFilter { feed_id: Some(id), unread: Some(true), ..EntryFilter::default() },
    ] {
        let whole = harness.entries(filter.clone()).await;
        assert_eq!(whole.len(), 57);
        assert!(whole.is_sorted_by(|a, b| (a.sort_at, a.id) > (b.sort_at, b.id)));
        for limit in [1, 7, 56, 57, 58] {
            assert_eq!(walk(harness, &filter, limit).await, whole, "{limit}");
        }
    }
}

async fn f6_the_last_page_says_so(harness: &Harness) {
    let filter = EntryFilter::default();
    let page = harness.store.entries(&filter, 2, None).await.unwrap();
    assert_eq!((page.entries.len(), page.next_cursor), (0, None));
    harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    let page = harness.store.entries(&filter, 2, None).await.unwrap();
    assert_eq!((page.entries.len(), page.next_cursor), (2, None));
    let page = harness.store.entries(&filter, 1, None).await.unwrap();
    let last = page.entries.last().unwrap();
    assert_eq!(page.next_cursor, Some(Cursor { at: last.sort_at, id: last.id }));
    // A client may hold a cursor long after all that it points to is gone.
    let beyond = Cursor { at: harness.after(-1_000_000), id: last.id };
    let page = harness.store.entries(&filter, 2, Some(beyond)).await.unwrap();
    assert_eq!((page.entries.len(), page.next_cursor), (0, None));
}

async fn f6_pages_neither_repeat_nor_skip_while_entries_come_in(harness: &Harness) {
    let old = |number: i64| entry_at(&format!("old {number}"), harness.after(-1000 - number / 3));
    let mut known: Vec<IncomingEntry> = (0..40).map(old).collect();
    let id = harness.add("http://e.org/1", known.clone()).await;
    let filter = EntryFilter::default();
    let (mut seen, mut after) = (Vec::new(), None);
    for round in 0_i64.. {
        let page = harness.store.entries(&filter, 7, after).await.unwrap();
        seen.extend(page.entries.into_iter().map(|entry| entry.guid));
        after = page.next_cursor;
        if after.is_none() {
            break;
        }
        // Newer than all pages, and among those that are still to come.
        harness.advance(Duration::from_secs(1)).await;
        known.push(entry(&format!("new {round}")));
        known.push(entry_at(&format!("late {round}"), harness.after(-3000 - round)));
        harness.poll(id, known.clone()).await;
    }
    let old_seen: Vec<_> = seen.iter().filter(|guid| guid.starts_with("old")).collect();
    assert_eq!(old_seen.len(), 40);
    assert!(!seen.iter().any(|guid| guid.starts_with("new")));
    let mut once = seen.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), seen.len(), "{seen:?}");
}

/// All pages of a kind, one after the other.
pub(super) async fn walk(harness: &Harness, filter: &EntryFilter, limit: u32) -> Vec<Entry> {
    let (mut entries, mut after) = (Vec::new(), None);
    loop {
        let page = harness.store.entries(filter, limit, after).await.unwrap();
        assert!(page.entries.len() <= usize::try_from(limit).unwrap());
        entries.extend(page.entries);
        after = page.next_cursor;
        if after.is_none() {
            return entries;
        }
    }
}
