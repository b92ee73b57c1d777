//! Databases of every released version, brought forward with their data (requirement P2).
//!
//! `tests/upgrades/` holds a small database of each version for each store: `VERSION.sqlite.db` and `VERSION.postgres.sql`,
//! and some of between two versions. Those of this version are written, once, when it is released:
//!
//! ```sh
//! scripts/with-postgres cargo test -p store --test it upgrades::write_fixtures -- --ignored
//! ```

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use domain::{
    account::READER,
    delivery::{NewWebhook, Verdict},
    entry::EntryFilter,
    icon::IconLook,
    ports::{MarkRead, PruneLimits, Store},
};
use rusqlite::types::Value;
use store::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore};
use testkit::{SimulatedClock, drop_database, empty_database, url_of};
use tokio_postgres::NoTls;

use super::{
    Harness,
    accounts::{session, token},
    given::{entry, version},
    given_outbox::new_webhook,
    given_push::push,
    icons,
};

/// What a later program may write anew when it opens a database: its own notes, leases, and what follows from the rest.
const TABLES_OF_ITS_OWN: [&str; 3] = ["schema_migrations", "sqlite_sequence", "sqlite_stat1"];
const INDEX: &str = "entry_grams";
const COLUMNS_OF_ITS_OWN: [&str; 2] = ["lease_owner", "lease_until"];

/// Rows of each table, as texts, sorted.
type Contents = BTreeMap<String, Vec<String>>;

/// The columns of each table.
type Columns = BTreeMap<String, Vec<String>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upgrades")
}

/// Those of one store. Each knows the checksums of the migrations that it was made by, so that it is refused once one of
/// them is changed.
fn fixtures(ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder()).expect("the fixtures are there").map(|file| file.unwrap().path());
    let files: Vec<_> = files.filter(|file| file.to_str().is_some_and(|name| name.ends_with(ending))).collect();
    assert!(!files.is_empty(), "there is no fixture {ending}");
    files
}

/// Whether it is said to be of this version.
fn is_of_this_version(fixture: &Path) -> bool {
    fixture.file_name().is_some_and(|name| name.to_str().unwrap().starts_with(&format!("{VERSION}.")))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const LAST_MIGRATION: &str = "SELECT max(version) FROM schema_migrations";

/// A little of everything.
async fn fill(harness: &Harness) {
    harness.webhook_like(NewWebhook { backlog: true, ..new_webhook("https://e.org/hook") }).await;
    let (feed, subscription) = harness.pushed("https://e.org/feed", "token").await;
    harness.push(push(subscription, "token", vec![entry("pushed"), version("changed", "東京 bread")])).await;
    harness.push(push(subscription, "token", vec![version("changed", "once more")])).await;
    harness.patch("pushed", Some(true), Some(true)).await;
    let other = harness.account("ann").await;
    other.follow("https://e.org/feed").await;
    harness.add("https://e.org/other", vec![entry("other")]).await;
    harness.fail_poll(feed).await;
    let job = harness.take_one("worker").await;
    harness.end(&job, Verdict::Delivered).await;
    let job = harness.take_one("worker").await;
    harness.end(&job, Verdict::Retry(Duration::from_mins(1))).await;
    harness.store.create_folder("Daily").await.unwrap().unwrap();
    harness.log_in(session(1)).await;
    harness.store.create_token(harness.id(), token(2)).await.unwrap();
    icons::settle(harness, &IconLook::Found(icons::icon(1))).await;
    // One that the last document holds is kept, the other is only remembered.
    let pruned = harness.add("https://e.org/pruned", vec![entry("pruned"), entry("kept")]).await;
    harness.poll(pruned, vec![entry("kept")]).await;
    harness.store.mark_read(MarkRead { feed_id: Some(pruned), ..MarkRead::default() }).await.unwrap();
    harness.advance(Duration::from_secs(1)).await;
    assert!(harness.store.prune_entries(PRUNE_READ).await.unwrap() > 0);
    // What comes of two days, and of a command.
    harness
        .tamper(
            "INSERT INTO figures_by_hour (account_id, series, hour, count)
             SELECT account_id, series, 1, count FROM figures_by_minute LIMIT 1;
             INSERT INTO maintenance (name, at) VALUES ('backup', 1);",
        )
        .await;
}

const PRUNE_READ: PruneLimits =
    PruneLimits { read_older_than: Duration::ZERO, unread_older_than: None, per_feed: 1000, chunk: 100 };

/// That a later migration cannot lose the rows of a table unseen.
fn check_full(contents: &Contents) {
    let empty = contents.iter().filter(|(name, rows)| rows.is_empty() && !name.starts_with("sqlite_"));
    let empty: Vec<_> = empty.map(|(name, _)| name).collect();
    assert!(empty.is_empty(), "`fill` has no row for {empty:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes the fixtures of this version, when it is released"]
async fn write_fixtures() {
    std::fs::create_dir_all(folder()).unwrap();
    for (harness, ending) in [(Harness::sqlite().await, "sqlite.db"), (Harness::postgres().await, "postgres.sql")] {
        fill(&harness).await;
        let file = folder().join(format!("{VERSION}.{ending}"));
        let _ = std::fs::remove_file(&file);
        harness.dump(&file);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_sqlite_databases_of_all_versions_are_brought_forward() {
    let (temporary, harness) = (tempfile::tempdir().unwrap(), Harness::sqlite().await);
    fill(&harness).await;
    let own = temporary.path().join("own.db");
    harness.dump(&own);
    check_full(&sqlite_contents(&own, &sqlite_columns(&own)));
    let last_migration = |file: &Path| {
        let connection = rusqlite::Connection::open(file).unwrap();
        connection.query_row(LAST_MIGRATION, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    for fixture in fixtures(".sqlite.db").into_iter().chain([own.clone()]) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pirssonite.db");
        std::fs::copy(&fixture, &file).unwrap();
        if is_of_this_version(&fixture) {
            assert_eq!(last_migration(&file), last_migration(&own), "this version has another schema: write it anew");
        }
        let columns = sqlite_columns(&file);
        let before = sqlite_contents(&file, &columns);
        let clock = Arc::new(SimulatedClock::default());
        let store = SqliteStore::open(folder.path(), SqliteOptions::default(), clock).unwrap();
        assert_eq!(sqlite_contents(&file, &columns), before, "{}", fixture.display());
        check_works(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_postgres_databases_of_all_versions_are_brought_forward() {
    let (temporary, harness) = (tempfile::tempdir().unwrap(), Harness::postgres().await);
    fill(&harness).await;
    let own = temporary.path().join("own.sql");
    harness.dump(&own);
    let mut of_this_version = None::<i64>;
    for fixture in fixtures(".postgres.sql").into_iter().chain([own.clone()]) {
        let name = empty_database().await;
        // It leaves the session in a state of its own.
        client(&name).await.batch_execute(&std::fs::read_to_string(&fixture).unwrap()).await.unwrap();
        let columns = postgres_columns(&name).await;
        let before = postgres_contents(&name, &columns).await;
        if fixture == own {
            check_full(&before);
        }
        let last_migration = client(&name).await.query_one(LAST_MIGRATION, &[]).await.unwrap().get(0);
        if is_of_this_version(&fixture) {
            of_this_version = Some(last_migration);
        } else if fixture == own {
            let fixture = of_this_version.unwrap_or(last_migration);
            assert_eq!(fixture, last_migration, "this version has another schema: write its fixture anew");
        }
        let options = PostgresOptions { pool_size: 2, connect_timeout: Duration::from_mins(1) };
        let store = PostgresStore::connect(&url_of(&name), options).await.unwrap();
        assert_eq!(postgres_contents(&name, &columns).await, before, "{}", fixture.display());
        check_works(&store).await;
        drop(store);
        drop_database(&name).await;
    }
}

/// What was in it can be read, and something new be stored.
async fn check_works(store: &dyn Store) {
    let page = store.entries(READER, &EntryFilter::default(), 100, None).await.unwrap();
    assert!(page.entries.len() >= 3, "{:?}", page.entries);
    assert!(!store.feeds(READER).await.unwrap().is_empty());
    store.create_folder(READER, "Later").await.unwrap().unwrap();
}

fn is_compared(table: &str) -> bool {
    !TABLES_OF_ITS_OWN.contains(&table) && !table.starts_with(INDEX)
}

fn sqlite_columns(file: &Path) -> Columns {
    let connection = rusqlite::Connection::open(file).unwrap();
    let sql = "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns \
               WHERE tables.type = 'table'";
    let mut rows = connection.prepare(sql).unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    columns_of(rows.map(Result::unwrap))
}

fn columns_of(rows: impl Iterator<Item = (String, String)>) -> Columns {
    let mut columns = Columns::new();
    for (table, column) in rows {
        if is_compared(&table) && !COLUMNS_OF_ITS_OWN.contains(&column.as_str()) {
            columns.entry(table).or_default().push(column);
        }
    }
    columns
}

fn sqlite_contents(file: &Path, columns: &Columns) -> Contents {
    let connection = rusqlite::Connection::open(file).unwrap();
    let rows = |(table, columns): (&String, &Vec<String>)| {
        let mut rows = connection.prepare(&format!("SELECT {} FROM {table}", columns.join(", "))).unwrap();
        let values = |row: &rusqlite::Row<'_>| (0..columns.len()).map(|at| row.get::<_, Value>(at)).collect();
        let rows =
            rows.query_map([], values).unwrap().map(|row: rusqlite::Result<Vec<Value>>| format!("{:?}", row.unwrap()));
        (table.clone(), sorted(rows.collect()))
    };
    columns.iter().map(rows).collect()
}

async fn client(database: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(&url_of(database), NoTls).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    client
}

async fn postgres_columns(database: &str) -> Columns {
    let sql =
        "SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = 'public'";
    let rows = client(database).await.query(sql, &[]).await.unwrap();
    columns_of(rows.iter().map(|row| (row.get(0), row.get(1))))
}

async fn postgres_contents(database: &str, columns: &Columns) -> Contents {
    let client = client(database).await;
    let mut contents = Contents::new();
    for (table, columns) in columns {
        let sql = format!("SELECT row_to_json(rows)::text FROM (SELECT {} FROM {table}) AS rows", columns.join(", "));
        let rows = client.query(&sql, &[]).await.unwrap();
        contents.insert(table.clone(), sorted(rows.iter().map(|row| row.get(0)).collect()));
    }
    contents
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}
