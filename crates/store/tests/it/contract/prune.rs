//! F7: what is read is pruned by age and number, what is unread by age, and does not come back as new.

use std::time::Duration;

use domain::{
    EntryFilter, EntryPatch, FeedId,
    ingest::{Document, Hash, Known, PollOutcome},
    ports::{MarkRead, PruneLimits},
};

use super::{
    Harness,
    given::{HOUR, document, entry, entry_at, result, sharing, titles, version},
};

const DAY: Duration = Duration::from_hours(24);
const LIMITS: PruneLimits = PruneLimits { read_older_than: DAY, unread_older_than: None, per_feed: 1000, chunk: 100 };

contract! {
    f7_read_entries_go_when_they_are_old,
    f7_read_entries_go_beyond_the_newest_of_a_feed,
    f7_starred_and_ageless_unread_entries_stay,
    f7_unread_entries_go_when_they_are_old,
    f7_unread_entries_go_in_the_same_chunks,
    f7_pruning_is_done_in_chunks,
    f7_a_pruned_entry_does_not_come_back_as_new,
    f7_pruned_entries_of_one_identity_are_remembered_separately,
    f7_an_incomplete_document_forgets_nothing,
    f7_a_pruned_entry_is_not_found_any_more,
}

async fn f7_read_entries_go_when_they_are_old(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    harness.advance(HOUR).await;
    // Old by its date, but received just now.
    harness.poll(id, vec![entry("1"), entry("2"), entry_at("3", harness.after(-1_000_000))]).await;
    harness.store.mark_read(MarkRead::default()).await.unwrap();
    harness.advance(HOUR * 23).await;
    assert_eq!(harness.store.prune_entries(LIMITS).await.unwrap(), 0);
    harness.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.store.prune_entries(LIMITS).await.unwrap(), 2);
    assert_eq!(titles(&harness.all().await), ["3"]);
    assert_eq!(harness.store.prune_entries(LIMITS).await.unwrap(), 0);
    assert_eq!(harness.unread_of(id).await, 0);
}

async fn f7_read_entries_go_beyond_the_newest_of_a_feed(harness: &Harness) {
    let entries =
        |harness: &Harness| (0..10).map(|number| entry_at(&number.to_string(), harness.after(-number))).collect();
    let id = harness.add("http://e.org/1", entries(harness)).await;
    harness.add("http://e.org/2", entries(harness)).await;
    harness.store.mark_read(MarkRead { feed_id: Some(id), ..MarkRead::default() }).await.unwrap();
    let limits = PruneLimits { per_feed: 4, ..LIMITS };
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 6);
    assert_eq!(titles(&of_feed(harness, id).await), ["0", "1", "2", "3"]);
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 0);
    assert_eq!(harness.all().await.len(), 14);
    // Two more come in: as many go.
    let more = ["a", "b"].map(entry).to_vec();
    harness.poll(id, more).await;
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 2);
    assert_eq!(titles(&of_feed(harness, id).await), ["a", "b", "0", "1"]);
}

async fn f7_starred_and_ageless_unread_entries_stay(harness: &Harness) {
    let entries = (0..6).map(|number| entry_at(&number.to_string(), harness.after(-number))).collect();
    let id = harness.add("http://e.org/1", entries).await;
    for (guid, is_read, is_starred) in [("1", true, true), ("3", false, true), ("4", true, false), ("5", true, true)] {
        let entry = harness.entry(guid).await.id;
        let patch = EntryPatch { is_read: Some(is_read), is_starred: Some(is_starred) };
        harness.store.patch_entry(entry, patch).await.unwrap();
    }
    harness.advance(DAY * 1000).await;
    assert_eq!(harness.store.prune_entries(PruneLimits { per_feed: 1, ..LIMITS }).await.unwrap(), 1);
    assert_eq!(titles(&harness.all().await), ["0", "1", "2", "3", "5"]);
    assert_eq!(harness.unread_of(id).await, 3);
    // The star is taken off: now it may go.
    let five = harness.entry("5").await.id;
    harness.store.patch_entry(five, EntryPatch { is_read: None, is_starred: Some(false) }).await.unwrap();
    assert_eq!(harness.store.prune_entries(LIMITS).await.unwrap(), 1);
}

async fn f7_unread_entries_go_when_they_are_old(harness: &Harness) {
    let limits = PruneLimits { unread_older_than: Some(DAY * 2), ..LIMITS };
    let id = harness.add("http://e.org/1", vec![entry("1"), entry("2"), entry("starred"), entry("read")]).await;
    let other = harness.add("http://e.org/2", vec![entry("other")]).await;
    let starred = harness.entry("starred").await.id;
    harness.store.patch_entry(starred, EntryPatch { is_read: None, is_starred: Some(true) }).await.unwrap();
    let read = harness.entry("read").await.id;
    harness.store.patch_entry(read, EntryPatch { is_read: Some(true), is_starred: None }).await.unwrap();
    harness.advance(HOUR).await;
    // Old by its date, but received just now.
    harness.poll(other, vec![entry("other"), entry_at("late", harness.after(-1_000_000))]).await;
    harness.advance(HOUR * 47).await;
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 1, "the read one");
    harness.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 3);
    assert_eq!(titles(&harness.all().await), ["starred", "late"]);
    assert_eq!([harness.unread_of(id).await, harness.unread_of(other).await], [1, 1]);
    assert_eq!(harness.store.counts().await.unwrap().total, 2);
    // It does not come back as new.
    assert_eq!(harness.poll(id, vec![entry("1"), version("2", "changed"), entry("starred")]).await.new, 0);
    assert_eq!(harness.unread_of(id).await, 1);
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 0);
}

async fn f7_unread_entries_go_in_the_same_chunks(harness: &Harness) {
    let entries = |from: i64, to: i64| (from..to).map(|number| entry(&number.to_string())).collect();
    let read = harness.add("http://e.org/1", entries(0, 10)).await;
    let unread = harness.add("http://e.org/2", entries(0, 10)).await;
    harness.store.mark_read(MarkRead { feed_id: Some(read), ..MarkRead::default() }).await.unwrap();
    harness.advance(DAY * 2).await;
    let limits = PruneLimits { unread_older_than: Some(DAY), chunk: 7, ..LIMITS };
    let mut pruned = Vec::new();
    while pruned.last() != Some(&0) {
        pruned.push(harness.store.prune_entries(limits).await.unwrap());
    }
    assert_eq!(pruned, [7, 7, 6, 0]);
    assert_eq!([harness.unread_of(read).await, harness.unread_of(unread).await], [0, 0]);
}

async fn f7_pruning_is_done_in_chunks(harness: &Harness) {
    let entries =
        |from: i64, to: i64| (from..to).map(|number| entry_at(&number.to_string(), harness.after(-number))).collect();
    harness.add("http://e.org/1", entries(0, 25)).await;
    harness.add("http://e.org/2", entries(0, 25)).await;
    harness.store.mark_read(MarkRead::default()).await.unwrap();
    let limits = PruneLimits { per_feed: 10, chunk: 7, ..LIMITS };
    let mut pruned = Vec::new();
    while pruned.last() != Some(&0) {
        pruned.push(harness.store.prune_entries(limits).await.unwrap());
    }
    assert_eq!(pruned, [7, 7, 7, 7, 2, 0]);
    assert_eq!(harness.all().await.len(), 20);
    harness.advance(DAY * 2).await;
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 7);
}

async fn f7_a_pruned_entry_does_not_come_back_as_new(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    prune_all(harness).await;
    let identities = [Hash::of(b"1"), Hash::of(b"2")];
    let known = harness.store.known_entries(id, &identities).await.unwrap();
    assert!(identities.iter().all(|identity| matches!(known[identity][..], [Known::Pruned(..)])), "{known:?}");
    let stored = harness.poll(id, vec![entry("1"), version("2", "changed"), entry("3")]).await;
    assert_eq!((stored.new, stored.changed), (1, 0));
    assert_eq!(titles(&harness.all().await), ["3"]);
    assert_eq!(harness.unread_of(id).await, 1);

    // The feed no longer holds the first; if it ever does again, it is new.
    harness.poll(id, vec![entry("2"), entry("3")]).await;
    assert_eq!(
        harness.store.known_entries(id, &identities).await.unwrap().into_keys().collect::<Vec<_>>(),
        [identities[1]]
    );
    assert_eq!(harness.poll(id, vec![entry("1"), entry("2"), entry("3")]).await.new, 1);
    assert_eq!(harness.unread_of(id).await, 2);
}

/// Those that share an identity are forgotten one by one: otherwise a feed with one link for all would never forget.
async fn f7_pruned_entries_of_one_identity_are_remembered_separately(harness: &Harness) {
    let shared = |title: &str| sharing("http://e.org/", title);
    let id = harness.add("http://e.org/1", vec![shared("a"), shared("b")]).await;
    prune_all(harness).await;
    let remembered = async || harness.store.known_entries(id, &[Hash::of(b"http://e.org/")]).await.unwrap();
    assert_eq!(remembered().await.values().map(Vec::len).sum::<usize>(), 2);
    assert_eq!(harness.poll(id, vec![shared("a"), shared("b"), shared("c")]).await.new, 1);
    assert_eq!(titles(&harness.all().await), ["c"]);

    assert_eq!(harness.poll(id, vec![shared("b"), shared("c")]).await.new, 0);
    assert_eq!(remembered().await.values().map(Vec::len).sum::<usize>(), 2, "the entry, and one that was pruned");
    assert_eq!(harness.poll(id, vec![shared("a"), shared("b"), shared("c")]).await.new, 1);
    assert_eq!(titles(&harness.all().await), ["a", "c"]);
}

async fn f7_an_incomplete_document_forgets_nothing(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1")]).await;
    prune_all(harness).await;
    let job = harness.claim(id).await;
    let cut_off = Document { is_complete: false, ..document(vec![]) };
    harness.finish(result(&job, PollOutcome::Fetched(cut_off))).await;
    let job = harness.claim(id).await;
    harness.finish(result(&job, PollOutcome::Failed("no".to_owned()))).await;
    assert_eq!(harness.poll(id, vec![entry("1")]).await.new, 0);
    // Present, though it is not among the entries that are new or changed.
    let job = harness.claim(id).await;
    let known = Document { entries: vec![], ..document(vec![entry("1")]) };
    harness.finish(result(&job, PollOutcome::Fetched(known))).await;
    assert_eq!(harness.poll(id, vec![entry("1")]).await.new, 0);
}

async fn f7_a_pruned_entry_is_not_found_any_more(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("apple")]).await;
    prune_all(harness).await;
    harness.poll(id, vec![version("2", "apple")]).await;
    let filter = EntryFilter { search: domain::Search::parse("apple").unwrap(), ..EntryFilter::default() };
    let found = harness.entries(filter).await;
    assert_eq!(found.iter().map(|entry| entry.guid.as_str()).collect::<Vec<_>>(), ["2"]);
    // Removing a feed removes what is remembered of it.
    assert!(harness.store.delete_feed(id).await.unwrap());
    let id = harness.add("http://e.org/1", vec![entry("apple")]).await;
    assert_eq!(harness.unread_of(id).await, 1);
}

async fn prune_all(harness: &Harness) {
    harness.store.mark_read(MarkRead::default()).await.unwrap();
    harness.advance(DAY * 2).await;
    while harness.store.prune_entries(LIMITS).await.unwrap() > 0 {}
    assert_eq!(harness.all().await, []);
}

async fn of_feed(harness: &Harness, id: FeedId) -> Vec<domain::Entry> {
    harness.entries(EntryFilter { feed_id: Some(id), ..EntryFilter::default() }).await
}
