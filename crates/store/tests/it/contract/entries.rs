//! F6: entries by kind, one by one, marked, counted.

use domain::{Entry, EntryFilter, EntryId, EntryPatch, FeedPatch, File, ingest::IncomingEntry};

use super::{
    Harness,
    given::{entry, entry_at, titles},
};

contract! {
    f6_an_entry_comes_back_as_it_went_in,
    f6_entries_are_newest_first_and_then_as_in_the_document,
    f6_conditions_add_up,
    f6_marks_change_the_counts_exactly,
    f6_counts_are_of_feeds_and_folders,
}

async fn f6_an_entry_comes_back_as_it_went_in(harness: &Harness) {
    let incoming = IncomingEntry {
        url: Some("http://e.org/post".to_owned()),
        author: Some("A, B".to_owned()),
        summary: Some("<p>short</p>".to_owned()),
        published_at: Some(harness.after(-60)),
        updated_at: Some(harness.after(-30)),
        categories: vec!["x".to_owned(), "y \"z\"".to_owned()],
        enclosures: vec![File {
            url: "http://e.org/a.mp3".to_owned(),
            mime: Some("audio/mpeg".to_owned()),
            length: Some(7),
            duration_secs: Some(3723),
        }],
        ..entry("1")
    };
    let feed_id = harness.add("http://e.org/1", vec![incoming.clone()]).await;
    let stored = harness.entry("1").await;
    let expect = Entry {
        id: stored.id,
        feed_id,
        guid: "1".to_owned(),
        url: incoming.url,
        title: incoming.title,
        author: incoming.author,
        summary: incoming.summary,
        content: incoming.content,
        published_at: incoming.published_at,
        updated_at: incoming.updated_at,
        sort_at: harness.after(-60),
        received_at: harness.now(),
        is_read: false,
        is_starred: false,
        categories: incoming.categories,
        enclosures: incoming.enclosures,
    };
    assert_eq!(stored, expect);
    assert_eq!(harness.store.entry(stored.id).await.unwrap(), Some(expect));
    assert_eq!(harness.store.entry(EntryId(999)).await.unwrap(), None);
}

async fn f6_entries_are_newest_first_and_then_as_in_the_document(harness: &Harness) {
    let at = |seconds| harness.after(seconds);
    harness.add("http://e.org/1", vec![entry_at("b", at(-20)), entry_at("c", at(-20)), entry_at("a", at(-10))]).await;
    harness.add("http://e.org/2", vec![entry("new first"), entry("new second"), entry_at("d", at(-30))]).await;
    assert_eq!(titles(&harness.all().await), ["new first", "new second", "a", "b", "c", "d"]);
}

async fn f6_conditions_add_up(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let one = harness.add("http://e.org/1", vec![entry("1a"), entry("1b"), entry("1c")]).await;
    let two = harness.add("http://e.org/2", vec![entry("2a"), entry("2b")]).await;
    let into = FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() };
    harness.store.update_feed(two, into).await.unwrap();
    mark(harness, "1a", Some(true), Some(true)).await;
    mark(harness, "1b", None, Some(true)).await;
    mark(harness, "2a", Some(true), None).await;

    let all = EntryFilter::default();
    let of_one = EntryFilter { feed_id: Some(one), ..all.clone() };
    let of_folder = EntryFilter { folder_id: Some(folder), ..all.clone() };
    let unread = |filter: &EntryFilter, wanted| EntryFilter { unread: Some(wanted), ..filter.clone() };
    let starred = |filter: &EntryFilter, wanted| EntryFilter { starred: Some(wanted), ..filter.clone() };
    for (filter, expect) in [
        (all.clone(), "1a 1b 1c 2a 2b"),
        (of_one.clone(), "1a 1b 1c"),
        (of_folder.clone(), "2a 2b"),
        (unread(&all, true), "1b 1c 2b"),
        (unread(&all, false), "1a 2a"),
        (unread(&of_one, true), "1b 1c"),
        (unread(&of_one, false), "1a"),
        (unread(&of_folder, true), "2b"),
        (unread(&of_folder, false), "2a"),
        (starred(&all, true), "1a 1b"),
        (starred(&all, false), "1c 2a 2b"),
        (starred(&of_one, true), "1a 1b"),
        (starred(&of_folder, true), ""),
        (starred(&of_folder, false), "2a 2b"),
        (starred(&unread(&all, true), true), "1b"),
        (starred(&unread(&of_one, false), true), "1a"),
        (EntryFilter { folder_id: Some(folder), ..of_one }, ""),
        (EntryFilter { feed_id: Some(two), ..of_folder }, "2a 2b"),
    ] {
        let entries = harness.entries(filter.clone()).await;
        let mut found = titles(&entries);
        found.sort_unstable();
        assert_eq!(found.join(" "), expect, "{filter:?}");
    }
}

async fn f6_marks_change_the_counts_exactly(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    for (is_read, is_starred, unread, starred) in [
        (Some(true), None, 1, 0),
        (Some(true), Some(true), 1, 1),
        (None, None, 1, 1),
        (Some(false), None, 2, 1),
        (Some(false), Some(false), 2, 0),
    ] {
        let before = harness.entry("1").await;
        let after = mark(harness, "1", is_read, is_starred).await;
        let expect = Entry {
            is_read: is_read.unwrap_or(before.is_read),
            is_starred: is_starred.unwrap_or(before.is_starred),
            ..before
        };
        assert_eq!(after, expect);
        assert_eq!(harness.entry("1").await, expect);
        assert_eq!(harness.unread_of(id).await, unread);
        assert_eq!(harness.store.counts().await.unwrap().starred, starred);
    }
    let nobody = EntryPatch { is_read: Some(true), is_starred: None };
    assert_eq!(harness.store.patch_entry(EntryId(999), nobody).await.unwrap(), None);
}

async fn f6_counts_are_of_feeds_and_folders(harness: &Harness) {
    assert_eq!(harness.store.counts().await.unwrap(), domain::entry::Counts::default());
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    harness.store.create_folder("Empty").await.unwrap().unwrap();
    let one = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    let two = harness.add("http://e.org/2", vec![entry("3")]).await;
    let three = harness.add("http://e.org/3", vec![]).await;
    for id in [one, three] {
        let into = FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() };
        harness.store.update_feed(id, into).await.unwrap();
    }
    mark(harness, "3", Some(true), Some(true)).await;
    let counts = harness.store.counts().await.unwrap();
    assert_eq!((counts.total, counts.starred), (2, 1));
    assert_eq!(counts.by_folder.into_iter().collect::<Vec<_>>(), [(folder, 2)]);
    assert_eq!(counts.by_feed.into_iter().collect::<Vec<_>>(), [(one, 2), (two, 0), (three, 0)]);
}

async fn mark(harness: &Harness, guid: &str, is_read: Option<bool>, is_starred: Option<bool>) -> Entry {
    let id = harness.entry(guid).await.id;
    let patched = harness.store.patch_entry(id, EntryPatch { is_read, is_starred }).await.unwrap();
    patched.expect("the entry is there")
}
