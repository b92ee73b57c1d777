//! Many writes, one commit.

use std::sync::{Arc, Mutex};

use domain::{
    account::READER,
    ports::{FolderStore, StoreError},
};

use super::{fresh, hold_writer};
use crate::sqlite::shared::{queue::Priority, writer::WriteTx};

#[tokio::test]
async fn writes_that_wait_share_a_commit() {
    const WRITES: usize = 200;
    let (store, _folder) = fresh();
    let (release, held) = hold_writer(&store).await;
    let before = store.commits();
    let mut answers = Vec::new();
    for number in 0..WRITES {
        let insert = move |changes: &mut WriteTx<'_>| {
            changes
                .connection
                .execute("INSERT INTO folders (account_id, name, position) VALUES (1, ?1, ?1)", [number.to_string()])
        };
        answers.push(store.writer.submit(Priority::Usual, insert).await.unwrap());
    }
    assert_eq!(store.commits(), before, "nothing is committed while the first is running");
    release.send(()).unwrap();
    held.await.unwrap().unwrap();
    for answer in answers {
        assert_eq!(answer.await.unwrap().unwrap(), 1);
    }
    // More than two only if the machine stood still for longer than a group may take.
    assert!(store.commits() - before <= WRITES as u64 / 4, "{} commits for {WRITES} writes", store.commits() - before);
    assert_eq!(store.folders(READER).await.unwrap().len(), WRITES);
}

#[tokio::test]
async fn nobody_is_answered_before_the_commit() {
    let (store, _folder) = fresh();
    let mut first = store
        .writer
        .submit(Priority::Usual, |changes| {
            changes.connection.execute("INSERT INTO folders (account_id, name, position) VALUES (1, 'a', 0)", [])
        })
        .await
        .unwrap();
    // Whatever group it is in: as soon as it is answered, readers see it.
    let answer = (&mut first).await.unwrap().unwrap();
    assert_eq!((answer, store.folders(READER).await.unwrap().len()), (1, 1));
}

#[tokio::test]
async fn beats_go_before_bulk() {
    let (store, _folder) = fresh();
    let (release, _held) = hold_writer(&store).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut answers = Vec::new();
    for (priority, name) in [
        (Priority::Usual, "bulk 1"),
        (Priority::Usual, "bulk 2"),
        (Priority::Urgent, "beat 1"),
        (Priority::Urgent, "beat 2"),
    ] {
        let order = Arc::clone(&order);
        let note = move |_: &mut WriteTx<'_>| {
            order.lock().unwrap().push(name);
            Ok(())
        };
        answers.push(store.writer.submit(priority, note).await.unwrap());
    }
    release.send(()).unwrap();
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["beat 1", "beat 2", "bulk 1", "bulk 2"]);
}

#[tokio::test]
async fn one_bad_write_does_not_lose_the_others() {
    let (store, _folder) = fresh();
    let indexed = "INSERT INTO entry_grams (rowid, grams) VALUES (1, 'old'), (2, 'old'), (3, 'old')";
    store.writer.write(Priority::Usual, |changes| changes.connection.execute(indexed, [])).await.unwrap();
    let (release, held) = hold_writer(&store).await;
    // The bad one fails in the middle: the name is taken the second time.
    let insert = |name: &'static str, entry: i64, times: usize| {
        move |changes: &mut WriteTx<'_>| {
            changes.words.replace(entry, name.to_owned());
            for _ in 0..times {
                changes
                    .connection
                    .execute("INSERT INTO folders (account_id, name, position) VALUES (1, ?, 0)", [name])?;
            }
            Ok(())
        }
    };
    let panics = |_: &mut WriteTx<'_>| -> rusqlite::Result<()> { panic!("a fault in a use case") };
    let first = store.writer.submit(Priority::Usual, insert("first", 1, 1)).await.unwrap();
    let bad = store.writer.submit(Priority::Usual, insert("bad", 2, 2)).await.unwrap();
    let worse = store.writer.submit(Priority::Usual, panics).await.unwrap();
    let last = store.writer.submit(Priority::Usual, insert("last", 3, 1)).await.unwrap();
    release.send(()).unwrap();
    assert_eq!((held.await.unwrap(), first.await.unwrap(), last.await.unwrap()), (Ok(()), Ok(()), Ok(())));
    assert!(matches!(bad.await.unwrap(), Err(StoreError::Failed(_))));
    assert!(matches!(worse.await.unwrap(), Err(StoreError::Failed(_))));
    let names: Vec<_> = store.folders(READER).await.unwrap().into_iter().map(|folder| folder.name).collect();
    assert_eq!(names, ["first", "last"]);
    let words = "SELECT rowid FROM entry_grams WHERE entry_grams MATCH 'first OR bad OR last' ORDER BY rowid";
    let indexed = store.readers.read(|connection| {
        connection.prepare(words)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()
    });
    assert_eq!(indexed.await.unwrap(), [1, 3]);
}

/// The first has no savepoint.
#[tokio::test]
async fn first_that_fails_is_undone_alone() {
    let (store, _folder) = fresh();
    let insert = |name: &'static str| {
        move |changes: &mut WriteTx<'_>| {
            changes.connection.execute("INSERT INTO folders (account_id, name, position) VALUES (1, ?, 0)", [name])
        }
    };
    let (release, released) = std::sync::mpsc::channel::<()>();
    let fails = move |changes: &mut WriteTx<'_>| {
        insert("bad")(changes)?;
        let _ = released.recv();
        insert("bad")(changes)
    };
    let bad = store.writer.submit(Priority::Usual, fails).await.unwrap();
    let second = store.writer.submit(Priority::Usual, insert("second")).await.unwrap();
    let again = store.writer.submit(Priority::Usual, insert("second")).await.unwrap();
    let third = store.writer.submit(Priority::Usual, insert("third")).await.unwrap();
    release.send(()).unwrap();
    assert!(matches!(bad.await.unwrap(), Err(StoreError::Failed(_))));
    assert_eq!((second.await.unwrap(), third.await.unwrap()), (Ok(1), Ok(1)));
    assert!(matches!(again.await.unwrap(), Err(StoreError::Failed(_))));
    let names: Vec<_> = store.folders(READER).await.unwrap().into_iter().map(|folder| folder.name).collect();
    assert_eq!(names, ["second", "third"]);
}
