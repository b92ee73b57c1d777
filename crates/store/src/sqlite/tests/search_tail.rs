//! The index of grams lags behind, and no search shows it.

use std::sync::Arc;

use domain::{
    EntryFilter, Search,
    account::READER,
    ports::{EntryStore, FeedStore},
};
use testkit::SimulatedClock;

use super::{
    fresh,
    invariants::{add, agree, document, poll},
};
use crate::sqlite::{
    SqliteOptions, SqliteStore,
    search::search_index::{LAST, TAIL_ENTRIES_MAX},
};

/// Entries that are not indexed yet.
async fn tail(store: &SqliteStore) -> usize {
    let sql = format!("SELECT count(*) FROM entry_words WHERE entry_id > ({LAST})");
    let count = store.readers.read(move |connection| connection.query_row(&sql, [], |row| row.get::<_, u32>(0)));
    count.await.unwrap() as usize
}

async fn found(store: &SqliteStore, query: &str) -> usize {
    let filter = EntryFilter { search: Search::parse(query).unwrap(), ..EntryFilter::default() };
    store.entries(READER, &filter, 500, None).await.unwrap().entries.len()
}

#[tokio::test]
async fn f6_search_finds_what_is_not_indexed_yet() {
    let (store, _folder) = fresh();
    let one = add(&store, "http://e.org/1").await;
    assert_eq!(tail(&store).await, 0, "what was left by another process is indexed with it");
    poll(&store, one, document(40..45, "second")).await;
    assert_eq!(tail(&store).await, 5);
    for (query, expect) in [("entry", 45), ("second", 5), ("first -second", 40), ("\"entry 44\"", 1), ("seco*", 5)] {
        assert_eq!(found(&store, query).await, expect, "{query}");
    }
    // One that is indexed and one that is not are changed.
    poll(&store, one, document(39..41, "third")).await;
    for (query, expect) in [("third", 2), ("second", 4), ("first", 39)] {
        assert_eq!(found(&store, query).await, expect, "{query}");
    }
    agree(&store, "changing").await;
    store.delete_feed(READER, one).await.unwrap();
    assert_eq!(found(&store, "entry").await, 0);
    agree(&store, "deleting").await;
}

#[tokio::test]
async fn f6_index_follows_when_enough_waits() {
    let (store, folder) = fresh();
    let one = add(&store, "http://e.org/1").await;
    poll(&store, one, document(40..240, "second")).await;
    assert_eq!(tail(&store).await, 200);
    let two = add(&store, "http://e.org/2").await;
    assert_eq!(tail(&store).await, 240);
    let enough = u8::try_from(40 + TAIL_ENTRIES_MAX - 240).unwrap();
    poll(&store, two, document(40..enough, "third")).await;
    assert_eq!(tail(&store).await, 0);
    agree(&store, "indexing").await;
    // What waits when a process ends is found by the next, and indexed with what comes.
    poll(&store, two, document(100..110, "fourth")).await;
    drop(store);
    let store =
        SqliteStore::open(folder.path(), SqliteOptions::default(), Arc::new(SimulatedClock::default())).unwrap();
    assert_eq!((tail(&store).await, found(&store, "fourth").await), (10, 10));
    poll(&store, two, document(120..121, "fourth")).await;
    assert_eq!((tail(&store).await, found(&store, "fourth").await), (0, 11));
    agree(&store, "opening").await;
}
