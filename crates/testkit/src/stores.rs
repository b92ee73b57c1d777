//! An SQLite store of its own for each test, in a file, as in real life, whose clock the test sets. Its twin on
//! PostgreSQL is in [`postgres`](crate::fresh_postgres).

use std::{path::Path, sync::Arc};

use jiff::Timestamp;
use store::{SqliteOptions, SqliteStore, Synchronous};
use tempfile::TempDir;

use crate::SimulatedClock;

/// A database of a test's own. It goes when this goes.
#[derive(Debug)]
pub struct FreshSqlite {
    /// The store on it.
    pub store: SqliteStore,
    /// Its clock, which shows the system's time until it is set.
    pub clock: SimulatedClock,
    folder: TempDir,
}

/// A fresh database with the schema, and a store on it. It does not wait for the disk: no test outlives the machine.
///
/// # Panics
///
/// If there is no place for temporary files.
pub async fn fresh_sqlite() -> FreshSqlite {
    let folder = tempfile::tempdir().expect("there is a place for temporary files");
    let clock = SimulatedClock::default();
    let options = SqliteOptions { synchronous: Synchronous::Off, ..SqliteOptions::default() };
    let store =
        SqliteStore::open(folder.path(), options, Arc::new(clock.clone())).expect("a fresh folder can be opened");
    FreshSqlite { store, clock, folder }
}

impl FreshSqlite {
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Stops the store's clock at this instant.
    #[expect(clippy::unused_async, reason = "the same shape as on PostgreSQL")]
    pub async fn set_now(&self, now: Timestamp) {
        self.clock.set(now);
    }
}
