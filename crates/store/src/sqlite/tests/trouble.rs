//! A full disk: nothing is half-written, everyone is told, and it recovers by itself.

use std::time::Duration;

use domain::{
    EntryFilter, NewFeed,
    account::READER,
    feed_state::FeedAddress,
    ingest::{Document, Hash, IncomingEntry},
    ports::{EntryStore, FeedStore, FolderStore, Store, StoreError},
};

use super::{fresh, hold_writer};
use crate::sqlite::{SqliteStore, shared::queue::Priority};

/// What a disk that is full lets pass: nothing that needs another page.
async fn fill_disk(store: &SqliteStore) {
    let limit = |changes: &mut crate::sqlite::shared::writer::WriteTx<'_>| {
        let pages: i64 = changes.connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        changes.connection.query_row(&format!("PRAGMA max_page_count = {}", pages + 2), [], |_| Ok(()))
    };
    store.writer.write(Priority::Usual, limit).await.unwrap();
}

async fn free_disk(store: &SqliteStore) {
    let free = |changes: &mut crate::sqlite::shared::writer::WriteTx<'_>| {
        changes.connection.query_row("PRAGMA max_page_count = 1000000", [], |_| Ok(()))
    };
    store.writer.write(Priority::Usual, free).await.unwrap();
}

fn large_feed(number: u8) -> NewFeed {
    let text = "many words ".repeat(10_000);
    let entry = IncomingEntry {
        guid: number.to_string(),
        identity: Hash::of(&[number]),
        content: Some(text.clone()),
        search_text: text,
        ..IncomingEntry::default()
    };
    NewFeed {
        address: FeedAddress { url: format!("http://e.org/{number}"), credentials: None },
        folder_id: None,
        custom_title: None,
        document: Document { present: vec![entry.key()], entries: vec![entry], ..Document::default() },
        next_check_in: Duration::from_mins(1),
    }
}

#[tokio::test]
async fn a_full_disk_writes_nothing_and_recovers() {
    let (store, _folder) = fresh();
    store.add_feed(READER, large_feed(0)).await.unwrap();
    fill_disk(&store).await;
    for _ in 0..3 {
        let error = store.add_feed(READER, large_feed(1)).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert_eq!(store.feeds(READER).await.unwrap().len(), 1);
        assert_eq!(store.entries(READER, &EntryFilter::default(), 10, None).await.unwrap().entries.len(), 1);
    }
    // Reading goes on.
    assert_eq!(store.folders(READER).await, Ok(Vec::new()));
    free_disk(&store).await;
    store.add_feed(READER, large_feed(1)).await.unwrap();
    assert_eq!(store.feeds(READER).await.unwrap().len(), 2);
    let words = EntryFilter { search: domain::Search::parse("many").unwrap(), ..EntryFilter::default() };
    assert_eq!(store.entries(READER, &words, 10, None).await.unwrap().entries.len(), 2);
    let check = store
        .readers
        .read(|connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)));
    assert_eq!(check.await.unwrap(), "ok");
}

#[tokio::test]
async fn u6_a_full_disk_is_not_ready_until_something_can_be_written() {
    let (store, _folder) = fresh();
    store.add_feed(READER, large_feed(0)).await.unwrap();
    fill_disk(&store).await;
    store.add_feed(READER, large_feed(1)).await.unwrap_err();
    for _ in 0..3 {
        let error = store.ping().await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    }
    // What needs no disk space succeeds, and says nothing about it.
    store.writer.write(Priority::Usual, |_| Ok(())).await.unwrap();
    assert!(store.ping().await.is_err());
    free_disk(&store).await;
    assert!(store.writer.is_failing());
    assert_eq!(store.ping().await, Ok(()));
    assert!(!store.writer.is_failing());
    // And it left nothing behind.
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'disk_probe'";
    let left = store.readers.read(|connection| connection.query_row(tables, [], |row| row.get::<_, i64>(0)));
    assert_eq!(left.await, Ok(0));
}

#[tokio::test]
async fn u6_a_write_that_succeeds_makes_it_ready_again() {
    let (store, _folder) = fresh();
    fill_disk(&store).await;
    assert_eq!(store.ping().await, Ok(()), "nothing has been refused yet");
    store.add_feed(READER, large_feed(1)).await.unwrap_err();
    assert!(store.writer.is_failing());
    free_disk(&store).await;
    store.add_feed(READER, large_feed(1)).await.unwrap();
    assert!(!store.writer.is_failing());
    // What fails for a reason of its own says nothing about the disk.
    let bad =
        |changes: &mut crate::sqlite::shared::writer::WriteTx<'_>| changes.connection.execute_batch("no statement");
    assert!(matches!(store.writer.write(Priority::Usual, bad).await, Err(StoreError::Failed(_))));
    assert_eq!(store.ping().await, Ok(()));
}

#[tokio::test]
async fn u6_dead_writer_closes_its_queue() {
    let (store, _folder) = fresh();
    let (release, held) = hold_writer(&store).await;
    store.writer.submit_fatal().await;
    let behind = store.writer.submit(Priority::Usual, |_| Ok(())).await.unwrap();
    release.send(()).unwrap();
    assert_eq!(held.await.unwrap(), Ok(()), "it was answered before");
    assert!(behind.await.is_err(), "nobody will answer it");
    for _ in 0..3 {
        let error = store.create_folder(READER, "a").await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert!(matches!(store.ping().await, Err(StoreError::Unavailable(_))));
    }
    assert_eq!(store.folders(READER).await, Ok(vec![]), "reading goes on");
}

#[tokio::test]
async fn u8_searches_do_not_hold_up_pages() {
    let (store, _folder) = fresh();
    store.add_feed(READER, large_feed(0)).await.unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (start, started) = tokio::sync::oneshot::channel();
    let slow = store.clone();
    let slow = tokio::spawn(async move {
        let wait = move |_: &rusqlite::Connection| {
            let _ = start.send(());
            let _ = released.recv();
            Ok(())
        };
        slow.slow_readers.read(wait).await
    });
    started.await.unwrap();
    let words = EntryFilter { search: domain::Search::parse("many").unwrap(), ..EntryFilter::default() };
    let searching = store.clone();
    let search = tokio::spawn(async move { searching.entries(READER, &words, 10, None).await });
    assert_eq!(store.entries(READER, &EntryFilter::default(), 10, None).await.unwrap().entries.len(), 1);
    assert_eq!(store.feeds(READER).await.unwrap().len(), 1);
    assert!(!search.is_finished(), "it waits for its turn");
    release.send(()).unwrap();
    slow.await.unwrap().unwrap();
    assert_eq!(search.await.unwrap().unwrap().entries.len(), 1);
}

#[tokio::test]
async fn a_lost_transaction_is_reported_to_all_its_callers() {
    let (store, _folder) = fresh();
    fill_disk(&store).await;
    let (release, held) = hold_writer(&store).await;
    let small = store.clone();
    let small = tokio::spawn(async move { small.create_folder(READER, "small").await });
    let large = store.clone();
    let large = tokio::spawn(async move { large.add_feed(READER, large_feed(1)).await });
    while store.writer.waiting() < 2 {
        tokio::task::yield_now().await;
    }
    release.send(()).unwrap();
    let (held, small, large) = (held.await.unwrap(), small.await.unwrap(), large.await.unwrap());
    assert!(matches!(large, Err(StoreError::Unavailable(_))), "{large:?}");
    // All in one transaction, unless the machine stood still: whoever was told of success has it, nobody else.
    let is_there = !store.folders(READER).await.unwrap().is_empty();
    assert_eq!(small.is_ok(), is_there, "{small:?}");
    assert!(matches!(held, Ok(()) | Err(StoreError::Unavailable(_))));
    assert_eq!(store.feeds(READER).await.unwrap(), []);
    free_disk(&store).await;
    assert_eq!(store.add_feed(READER, large_feed(1)).await.map(drop), Ok(()));
}

#[tokio::test]
async fn waiting_for_a_lock_of_another_process_times_out() {
    let (store, folder) = fresh();
    let set = |changes: &mut crate::sqlite::shared::writer::WriteTx<'_>| {
        changes.connection.busy_timeout(Duration::from_millis(10))
    };
    store.writer.write(Priority::Usual, set).await.unwrap();
    let other = rusqlite::Connection::open(folder.path().join("pirssonite.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.create_folder(READER, "a").await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert_eq!(store.folders(READER).await.unwrap(), []);
    other.execute_batch("ROLLBACK").unwrap();
    assert!(store.create_folder(READER, "a").await.unwrap().is_ok());
}
