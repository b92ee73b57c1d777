//! A fresh store and its clock.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::ports::Store;
use jiff::{SignedDuration, Timestamp};
use testkit::{FreshPostgres, FreshSqlite, fresh_postgres, fresh_sqlite};

/// What the store's clock shows at first: 2026-01-01 12:00, UTC.
const START_SECOND: i64 = 1_767_268_800;

/// A fresh store, and its clock in the test's hand.
pub(super) struct Harness {
    pub(super) store: Arc<dyn Store>,
    database: Database,
    now: Mutex<Timestamp>,
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
        let harness = Self { store, database, now: Mutex::new(start) };
        harness.set(start).await;
        harness
    }

    /// The store's time.
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
        match &self.database {
            Database::Sqlite(database) => database.set_now(now).await,
            Database::Postgres(database) => database.set_now(now).await,
        }
    }

    /// Does what no user can: statements that both databases understand.
    pub(super) async fn tamper(&self, statements: &str) {
        match &self.database {
            Database::Sqlite(database) => {
                let file = rusqlite::Connection::open(database.folder().join("pirssonite.db")).unwrap();
                file.execute_batch(statements).unwrap();
            }
            Database::Postgres(database) => database.client().await.batch_execute(statements).await.unwrap(),
        }
    }

    /// Moves the store's clock on.
    pub(super) async fn advance(&self, by: Duration) {
        let now = self.now() + SignedDuration::try_from(by).unwrap();
        self.set(now).await;
    }
}
