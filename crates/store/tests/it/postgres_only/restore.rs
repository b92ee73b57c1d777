//! A restore that fails, or is broken off, leaves the database that it was to replace as it was, and in use; a copy that is
//! not the same is none (requirement P4).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use domain::{
    account::READER,
    ports::{FeedStore, FolderStore},
};
use store::{
    PostgresOptions, PostgresStore, SqliteOptions, SqliteStore,
    transfer::{Place, Purpose, Transfer, TransferError},
};
use testkit::{LonePostgres, SimulatedClock, fresh_postgres, fresh_sqlite};
use tokio::sync::Notify;

use super::{end_connections, import, with_connections};

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
    break_off(restore(file.clone(), &database)).await;
    end_connections(&database.client().await).await;
    check_serves(&database).await;

    // And it can be begun again, once the server has ended.
    end_connections(&database.client().await).await;
    restore(file, &database).run(&|_| {}).await.unwrap();
    let store = PostgresStore::connect(database.url(), PostgresOptions::default()).await.unwrap();
    assert_eq!(store.feeds(READER).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_copy_that_is_not_the_same_is_no_copy() {
    let (folder, target) = (tempfile::tempdir().unwrap(), fresh_postgres().await.leave());
    let open = || SqliteStore::open(folder.path(), SqliteOptions::default(), Arc::new(SimulatedClock::default()));
    open().unwrap().create_folder(READER, "Lost").await.unwrap().unwrap();
    let file = folder.path().join("pirssonite.db");
    // A target that keeps nothing of one table.
    let client = target.client().await;
    let loses = "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                 CREATE TRIGGER lose BEFORE INSERT ON folders FOR EACH ROW EXECUTE FUNCTION lose()";
    client.batch_execute(loses).await.unwrap();
    drop(client);
    let moving = || Transfer {
        from: Place::Sqlite(file.clone()),
        to: Place::Postgres(target.url().to_owned()),
        purpose: Purpose::Move { to: "there".to_owned() },
        replace: true,
        clock: Arc::new(SimulatedClock::default()),
    };
    let error = moving().run(&|_| {}).await.unwrap_err();
    let TransferError::Different(report) = &error else { panic!("{error}") };
    assert_eq!((report.table, report.source.rows, report.target.rows), ("folders", 1, 0));
    // The old one serves on, the new one never did.
    drop(open().unwrap());
    let refused = PostgresStore::connect(target.url(), with_connections(2)).await.unwrap_err().to_string();
    assert!(refused.contains("not complete"), "{refused}");

    target.client().await.batch_execute("DROP TRIGGER lose ON folders").await.unwrap();
    moving().run(&|_| {}).await.unwrap();
    let store = PostgresStore::connect(target.url(), with_connections(2)).await.unwrap();
    assert_eq!(store.folders(READER).await.unwrap().len(), 1);
}

/// Begins a copy, and breaks it off once the first rows are on their way.
async fn break_off(transfer: Transfer) {
    let begun = Notify::new();
    let progress = |_| begun.notify_one();
    tokio::select! {
        ended = transfer.run(&progress) => panic!("it ended before: {ended:?}"),
        () = begun.notified() => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_move_that_is_broken_off_can_begin_again() {
    let (old, new, postgres) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), fresh_postgres().await.leave());
    let open = |folder: &Path| {
        SqliteStore::open(folder, SqliteOptions::default(), Arc::new(SimulatedClock::default())).map(drop)
    };
    let connect = async || PostgresStore::connect(postgres.url(), with_connections(2)).await.map(drop);
    let [old_file, new_file] = [&old, &new].map(|folder| folder.path().join("pirssonite.db"));
    let there = || Place::Postgres(postgres.url().to_owned());
    let moving = |from, to| Transfer {
        from,
        to,
        purpose: Purpose::Move { to: "there".to_owned() },
        replace: false,
        clock: Arc::new(SimulatedClock::default()),
    };
    open(old.path()).unwrap();

    break_off(moving(Place::Sqlite(old_file.clone()), there())).await;
    end_connections(&postgres.client().await).await;
    open(old.path()).expect("the old one serves on");
    let refused = connect().await.unwrap_err().to_string();
    assert!(refused.contains("not complete"), "{refused}");
    moving(Place::Sqlite(old_file), there()).run(&|_| {}).await.unwrap();
    connect().await.expect("the new one serves");
    let refused = open(old.path()).unwrap_err().to_string();
    assert!(refused.contains("was moved to there"), "{refused}");

    // And on, into a file.
    end_connections(&postgres.client().await).await;
    break_off(moving(there(), Place::Sqlite(new_file.clone()))).await;
    end_connections(&postgres.client().await).await;
    assert!(!new_file.exists(), "what is not whole has not its name");
    connect().await.expect("the old one serves on");
    end_connections(&postgres.client().await).await;
    moving(there(), Place::Sqlite(new_file)).run(&|_| {}).await.unwrap();
    open(new.path()).expect("the new one serves");
    let refused = connect().await.unwrap_err().to_string();
    assert!(refused.contains("was moved to there"), "{refused}");
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
