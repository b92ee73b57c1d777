//! A fresh store and its clock.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{
    AccountId,
    account::{AccountName, NewAccount, READER},
    ports::Store,
};
use jiff::{SignedDuration, Timestamp};
use testkit::{FreshPostgres, FreshSqlite, fresh_postgres, fresh_sqlite};

use super::as_account::AsAccount;

/// What the store's clock shows at first: 2026-01-01 12:00, UTC.
const START_SECOND: i64 = 1_767_268_800;

/// A fresh store, and its clock in the test's hand. What cases do is done by the account that a new server has.
pub(super) struct Harness {
    pub(super) store: AsAccount,
    database: Arc<Database>,
    now: Arc<Mutex<Timestamp>>,
}

enum Database {
    Sqlite(FreshSqlite),
    Postgres(FreshPostgres),
}

impl Harness {
    pub(super) async fn sqlite() -> Self {
        let database = fresh_sqlite().await;
        Self::new(Arc::new(database.store.clone()), Database::Sqlite(database)).await
    }

    pub(super) async fn postgres() -> Self {
        let database = fresh_postgres().await;
        Self::new(Arc::new(database.store.clone()), Database::Postgres(database)).await
    }

    async fn new(store: Arc<dyn Store>, database: Database) -> Self {
        let start = Timestamp::from_second(START_SECOND).unwrap();
        let store = AsAccount { store, account: READER };
        let harness = Self { store, database: Arc::new(database), now: Arc::new(Mutex::new(start)) };
        harness.set(start).await;
        harness
    }

    /// Another account, made now: the same store and clock in its hands.
    pub(super) async fn account(&self, name: &str) -> Self {
        let new = NewAccount { name: AccountName::parse(name).unwrap(), password_hash: None, is_admin: false };
        let account = self.store.create_account(new).await.unwrap().unwrap();
        self.as_account(account.id)
    }

    pub(super) fn as_account(&self, account: AccountId) -> Self {
        let store = AsAccount { account, ..self.store.clone() };
        Self { store, database: Arc::clone(&self.database), now: Arc::clone(&self.now) }
    }

    pub(super) fn id(&self) -> AccountId {
        self.store.account
    }

    pub(super) fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    /// The store's time, so many seconds later, or earlier.
    pub(super) fn after(&self, seconds: i64) -> Timestamp {
        self.now() + SignedDuration::from_secs(seconds)
    }

    /// Sets the store's clock.
    pub(super) async fn set(&self, now: Timestamp) {
        *self.now.lock().unwrap() = now;
        match &*self.database {
            Database::Sqlite(database) => database.set_now(now).await,
            Database::Postgres(database) => database.set_now(now).await,
        }
    }

    /// Does what no user can: statements that both databases understand.
    pub(super) async fn tamper(&self, statements: &str) {
        match &*self.database {
            Database::Sqlite(database) => {
                let file = rusqlite::Connection::open(database.folder().join("pirssonite.db")).unwrap();
                file.execute_batch(statements).unwrap();
            }
            Database::Postgres(database) => database.client().await.batch_execute(statements).await.unwrap(),
        }
    }

    /// Forgets all that was ever queued, the numbers that were given to it too, as a database does that was restored.
    pub(super) async fn forget_outbox(&self) {
        self.tamper("DELETE FROM deliveries; DELETE FROM events;").await;
        self.tamper(match &*self.database {
            Database::Sqlite(_) => "DELETE FROM sqlite_sequence WHERE name IN ('events', 'deliveries');",
            Database::Postgres(_) => "ALTER SEQUENCE events_id_seq RESTART; ALTER SEQUENCE deliveries_id_seq RESTART;",
        })
        .await;
    }

    /// The number that a statement selects, which both databases understand.
    pub(super) async fn number(&self, statement: &str) -> i64 {
        match &*self.database {
            Database::Sqlite(database) => {
                let file = rusqlite::Connection::open(database.folder().join("pirssonite.db")).unwrap();
                file.query_row(statement, [], |row| row.get(0)).unwrap()
            }
            Database::Postgres(database) => database.client().await.query_one(statement, &[]).await.unwrap().get(0),
        }
    }

    /// Copies the entry of this guid so many times, each a millisecond older and with a greater title trait than the one
    /// before: with as many a limit is reached in one statement. Copies have words but no texts.
    pub(super) async fn copy_entry(&self, guid: &str, copies: u32) {
        let entries = format!(
            "WITH RECURSIVE numbers (number) AS (
                 SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {copies}
             )
             INSERT INTO entries (feed_id, identity, link_trait, title_trait, fingerprint, guid, title, sort_at,
                                  received_at, changed_at)
             SELECT feed_id, identity, link_trait, title_trait + number, fingerprint, guid || '/' || number, title,
                    sort_at - number, received_at, changed_at
             FROM entries CROSS JOIN numbers
             WHERE guid = '{guid}'
             ORDER BY number;
             INSERT INTO entry_states (entry_id, account_id, feed_id, folder_id, sort_at, received_at, modified_at)
             SELECT entries.id, follows.account_id, entries.feed_id, follows.folder_id, sort_at, received_at, changed_at
             FROM entries JOIN follows ON follows.feed_id = entries.feed_id
             WHERE guid LIKE '{guid}/%';"
        );
        let of_copies = format!(
            "FROM entries AS copies
             CROSS JOIN (
                 SELECT entry_words.* FROM entry_words JOIN entries ON entries.id = entry_id WHERE guid = '{guid}'
             ) AS first
             WHERE copies.guid LIKE '{guid}/%';"
        );
        self.tamper(&entries).await;
        self.tamper(&match &*self.database {
            Database::Sqlite(_) => format!(
                "INSERT INTO entry_words (entry_id, words) SELECT copies.id, first.words {of_copies}
                 INSERT INTO entry_grams (rowid, grams)
                 SELECT entry_id, words FROM entry_words
                 WHERE entry_id > (SELECT coalesce(max(id), 0) FROM entry_grams_docsize) ORDER BY entry_id;"
            ),
            Database::Postgres(_) => format!(
                "INSERT INTO entry_words (entry_id, sort_at, grams, words)
                 SELECT copies.id, copies.sort_at, first.grams, first.words {of_copies}"
            ),
        })
        .await;
    }

    /// Moves the store's clock on.
    pub(super) async fn advance(&self, by: Duration) {
        let now = self.now() + SignedDuration::try_from(by).unwrap();
        self.set(now).await;
    }
}

impl Harness {
    /// Writes what the store holds into a file, as a fixture keeps it: the database of SQLite, a dump of PostgreSQL.
    pub(super) fn dump(&self, file: &std::path::Path) {
        match &*self.database {
            Database::Sqlite(database) => {
                store::SqliteStore::copy(&database.folder().join("pirssonite.db"), file).unwrap();
                // A few rows in each of many tables and indexes: small pages make a small file.
                let copy = rusqlite::Connection::open(file).unwrap();
                copy.execute_batch("PRAGMA page_size = 512; VACUUM").unwrap();
            }
            Database::Postgres(database) => {
                let mut dump = std::process::Command::new("pg_dump");
                let dump = dump.args(["--inserts", "--no-owner", "--no-privileges", database.url()]).output().unwrap();
                assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
                // Commands of psql's own are not SQL.
                let sql = String::from_utf8(dump.stdout).unwrap();
                let sql: String =
                    sql.lines().filter(|line| !line.starts_with('\\')).flat_map(|line| [line, "\n"]).collect();
                std::fs::write(file, sql).unwrap();
            }
        }
    }
}
