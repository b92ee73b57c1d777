//! A restore that fails, or is broken off, leaves the database that it was to replace as it was, and in use (requirement
//! P4).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use domain::{account::READER, ports::FeedStore};
use store::{
    PostgresOptions, PostgresStore, SqliteStore,
    transfer::{Place, Purpose, Transfer, TransferError},
};
use testkit::{LonePostgres, SimulatedClock, fresh_postgres, fresh_sqlite};
use tokio::sync::Notify;

use super::{end_connections, import};

/// Feeds of the database that is to be replaced. Its backups have none.
const FEEDS: usize = 3;

async fn filled() -> LonePostgres {
    let database = fresh_postgres().await;
    import(&database.store, FEEDS).await;
    database.leave()
}

/// A backup that these statements have changed.
async fn backup(folder: &Path, statements: &str) -> PathBuf {
    let (database, file) = (fresh_sqlite().await, folder.join("backup.db"));
    SqliteStore::copy(&database.folder().join("pirssonite.db"), &file).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch(statements).unwrap();
    file
}

fn restore(file: PathBuf, database: &LonePostgres) -> Transfer {
    Transfer {
        from: Place::Sqlite(file),
        to: Place::Postgres(database.url().to_owned()),
        purpose: Purpose::Restore,
        replace: true,
        clock: Arc::new(SimulatedClock::default()),
    }
}

/// That a server starts, and finds what was there before.
async fn check_serves(database: &LonePostgres) {
    let store = PostgresStore::connect(database.url(), PostgresOptions::default()).await.unwrap();
    assert_eq!(store.feeds(READER).await.unwrap().len(), FEEDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_restore_that_fails_leaves_what_was_there() {
    let (database, folder) = (filled().await, tempfile::tempdir().unwrap());
    // That shows once the tables are empty.
    let file = backup(folder.path(), "ALTER TABLE folders ADD COLUMN later TEXT").await;
    let error = restore(file, &database).run(&|_| {}).await.unwrap_err();
    assert!(error.to_string().contains("other columns"), "{error}");
    check_serves(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_restore_that_is_broken_off_leaves_what_was_there() {
    let (database, folder) = (filled().await, tempfile::tempdir().unwrap());
    let file = backup(folder.path(), "").await;
    let begun = Notify::new();
    let progress = |_| begun.notify_one();
    tokio::select! {
        ended = restore(file.clone(), &database).run(&progress) => panic!("it ended before: {ended:?}"),
        () = begun.notified() => {}
    }
    end_connections(&database.client().await).await;
    check_serves(&database).await;

    // And it can be begun again, once the server has ended.
    end_connections(&database.client().await).await;
    restore(file, &database).run(&|_| {}).await.unwrap();
    let store = PostgresStore::connect(database.url(), PostgresOptions::default()).await.unwrap();
    assert_eq!(store.feeds(READER).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_damaged_backup_is_refused_before_anything_is_replaced() {
    let (database, folder) = (filled().await, tempfile::tempdir().unwrap());
    let file = backup(folder.path(), "CREATE TABLE large AS SELECT randomblob(100000) AS bytes").await;
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let error = restore(file, &database).run(&|_| panic!("rows were copied")).await.unwrap_err();
    assert!(matches!(&error, TransferError::Refused(why) if why.contains("damaged")), "{error}");
    check_serves(&database).await;
}
