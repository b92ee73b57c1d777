//! The store on SQLite: one file, one process, nothing to set up.
//!
//! Each use case is one job. What writes goes through the one [writer](shared::writer), which commits many jobs at once and
//! answers none before; what reads goes to one of a few [readers](shared::readers). The time is the injected clock's.

mod accounts;
mod changes;
mod entries;
mod feeds;
mod figures;
mod icons;
mod outbox;
mod push;
pub(crate) mod search;
pub(crate) mod shared;

#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::ports::{Clock, Store, StoreResult};

pub use self::shared::backup::PagesCopied;
use self::shared::{
    checkpointer::Checkpointer,
    queue::Priority,
    readers::Readers,
    writer::{WriteTx, Writer},
};
use crate::OpenError;

/// When a commit is taken for done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    /// When it is on the disk: it survives the loss of power.
    Full,
    /// When the system has it: it survives the end of the process, but not that of the machine.
    Off,
}

/// How a [`SqliteStore`] is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// When a commit is taken for done.
    pub synchronous: Synchronous,
    /// Connections that read side by side.
    pub readers: usize,
    /// Connections for reads that may take long: searches, walks that pass over much, counts, and what is to be pruned.
    pub slow_readers: usize,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { synchronous: Synchronous::Full, readers: 2, slow_readers: 2 }
    }
}

/// The store on SQLite. Closed when its last clone is dropped, after what was asked of it is done.
#[derive(Clone)]
pub struct SqliteStore {
    readers: Arc<Readers>,
    /// So that nobody who wants a page waits for a search.
    slow_readers: Arc<Readers>,
    // After the readers, and the checkpointer after it: the last connection to close takes the write-ahead log with it.
    writer: Arc<Writer>,
    // After the writer, whose connection is closed then.
    _checkpointer: Arc<Checkpointer>,
    clock: Arc<dyn Clock>,
    /// What ids of events and deliveries are made with.
    key: Arc<str>,
    picture_key: Arc<str>,
    // Last: the folder is free for others only when the connections are closed.
    files: Arc<shared::files::Files>,
}

impl SqliteStore {
    /// Opens the database in a data folder, or the one in a file (`*.db`), and brings its schema up to date. Nothing
    /// else may have the folder: a second open, by whatever process, is [`OpenError::InUse`].
    pub fn open(folder_or_file: &Path, options: SqliteOptions, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let files = shared::files::take(folder_or_file)?;
        let mut connection = shared::connection::writer(&files.database, &options)?;
        shared::migrate::migrate(&mut connection, &*clock)?;
        shared::maintenance::check(&connection)?;
        let (key, picture_key): (String, String) = connection
            .query_row("SELECT key, picture_key FROM installation", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(shared::migrate::unavailable)?;
        let start = |error: std::io::Error| OpenError::Unavailable(format!("no thread can be started: {error}"));
        let start_readers = |name: &str, count: usize| {
            let readers = (0..count.max(1)).map(|_| shared::connection::reader(&files.database));
            let readers = readers.collect::<Result<Vec<_>, _>>().map_err(shared::migrate::unavailable)?;
            Readers::start(name, readers).map_err(start)
        };
        let readers = start_readers("reader", options.readers)?;
        let slow_readers = Arc::new(start_readers("slow-reader", options.slow_readers)?);
        let own = shared::connection::checkpointer(&files.database, &options).map_err(shared::migrate::unavailable)?;
        let checkpointer = Arc::new(Checkpointer::start(own, &mut connection).map_err(start)?);
        let writer = Writer::start(connection, Arc::clone(&clock)).map_err(start)?;
        let (readers, writer, files) = (Arc::new(readers), Arc::new(writer), Arc::new(files));
        let (key, picture_key) = (key.into(), picture_key.into());
        Ok(Self { readers, slow_readers, writer, _checkpointer: checkpointer, clock, key, picture_key, files })
    }

    /// Writes a copy of the database in a data folder into a new file, also while a process has it.
    pub fn copy(folder_or_file: &Path, file: &Path) -> StoreResult<()> {
        Self::copy_with_progress(folder_or_file, file, &|_| {})
    }

    /// The same, and tells how far it is.
    pub fn copy_with_progress(folder_or_file: &Path, file: &Path, progress: &dyn Fn(PagesCopied)) -> StoreResult<()> {
        shared::backup::copy(&shared::files::database(folder_or_file), file, progress)
    }

    /// Transactions committed since it was opened: many writes share one.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SqliteStore").field("database", &self.files.database).finish_non_exhaustive()
    }
}

const PROBE_DISK_SPACE: &str = include_str!("sql/probe_disk_space.sql");

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> StoreResult<()> {
        self.readers.read(|connection| connection.query_row("SELECT 1", [], |_| Ok(()))).await?;
        // A transaction of nothing is committed on a full disk too. What costs something is done only when it is in
        // doubt whether the disk is full.
        let is_in_doubt = self.writer.is_failing();
        let prove = move |changes: &mut WriteTx<'_>| {
            if is_in_doubt { changes.connection.execute_batch(PROBE_DISK_SPACE) } else { Ok(()) }
        };
        self.writer.write(Priority::Urgent, prove).await
    }

    async fn watch_clock(&self) -> StoreResult<Option<Duration>> {
        let watch = |changes: &mut WriteTx<'_>| {
            let back = shared::clock::watch(changes.connection, changes.now())?;
            if back.is_some() {
                changes.log.deliveries();
            }
            Ok(back)
        };
        self.writer.write(Priority::Usual, watch).await
    }

    fn kind(&self) -> &'static str {
        "SQLite"
    }

    fn installation(&self) -> &str {
        &self.key
    }

    fn picture_key(&self) -> &str {
        &self.picture_key
    }
}
