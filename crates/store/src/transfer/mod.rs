//! Whole databases: copied from one store to another, backed up, restored, compared.
//!
//! ```text
//! source: rows of a table, in batches  ->  target: the same rows      what was copied is read again and compared
//! ```
//!
//! - Memory is bounded: some batches are under way, whatever a table holds.
//! - The target is nothing until all of it is there and found the same. On PostgreSQL all is one transaction, and
//!   a note keeps servers out until it is committed; on SQLite it is a file of another name until then. What a restore
//!   replaces is there until that moment, and serves on if the restore fails.
//! - The source of a move is noted as moved before the target can be used, so nothing is ever delivered by both.

mod database;
mod postgres;
mod row;
mod sqlite;
mod tables;

use std::{path::PathBuf, sync::Arc};

use domain::ports::Clock;
use tokio::sync::mpsc;

pub use self::row::TableSum;
use self::{
    database::Database,
    postgres::PostgresDatabase,
    row::Row,
    sqlite::SqliteDatabase,
    tables::{TABLES, Table},
};
use crate::{OpenError, PagesCopied, postgres::shared::connect::database_name};

/// Batches that are under way from the source to the target.
const BATCHES_WAITING_MAX: usize = 4;

/// Where a database is.
#[derive(Clone)]
pub enum Place {
    /// The file of an SQLite database.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL database.
    Postgres(String),
}

/// What a copy is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// The target takes over: nobody may use the source meanwhile, and afterwards it says where it was moved to.
    Move { to: String },
    /// A copy of one moment, while others use the source.
    Backup,
    /// The source is a copy of ours, which nobody else knows.
    Restore,
}

/// A copy to be made.
pub struct Transfer {
    pub from: Place,
    pub to: Place,
    pub purpose: Purpose,
    /// Whether the target may hold something, which is lost then.
    pub replace: bool,
    pub clock: Arc<dyn Clock>,
}

/// How far a copy is, in rows that were copied or compared.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub table: &'static str,
    pub done: u64,
    pub all: u64,
}

/// A table in both databases.
#[derive(Debug, Clone, Copy)]
pub struct TableReport {
    pub table: &'static str,
    pub source: TableSum,
    pub target: TableSum,
}

/// Why a database was not copied. The target is as good as before, unless it says that it is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{0}")]
    Refused(String),
    #[error("{store}: {reason}")]
    Failed { store: &'static str, reason: String },
    /// The source stays as moved: both would deliver otherwise.
    #[error(
        "the connection was lost while the copy was committed ({0}), so it may be complete or not. The old database stays as \
         moved. Run `copy` again: if the target then already holds something, it is complete. `copy --undo` lets the old \
         one serve, if the target is never used"
    )]
    Unclear(String),
    #[error("{} is not the same in both: nothing was changed", .0.table)]
    Different(TableReport),
}

type Result<T> = std::result::Result<T, TransferError>;

impl Transfer {
    /// Copies all tables, compares them, and only then lets the target be used.
    pub async fn run(self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Vec<TableReport>> {
        let mut source = self.open_source().await?;
        if let Purpose::Move { to } = &self.purpose {
            check_not_elsewhere(&mut *source, to).await?;
        }
        let mut target = self.open_target().await?;
        let mut counter = Counter { progress, done: 0, all: 0 };
        for table in &TABLES {
            // Once to copy it, once to compare it.
            counter.all += 2 * source.count(table).await?;
        }
        let reports = fill(&mut *source, &mut *target, &mut counter).await?;
        if let Purpose::Move { to } = &self.purpose {
            source.note_moved(to).await?;
        }
        let committed = target.commit().await;
        settle(&mut *source, committed).await?;
        Ok(reports)
    }

    async fn open_source(&self) -> Result<Box<dyn Database>> {
        Ok(match &self.from {
            Place::Sqlite(file) if self.purpose == Purpose::Restore => {
                Box::new(SqliteDatabase::open_unlocked(file, &*self.clock)?)
            }
            Place::Sqlite(file) => Box::new(SqliteDatabase::open(file, Arc::clone(&self.clock))?),
            Place::Postgres(url) => {
                let is_alone = matches!(self.purpose, Purpose::Move { .. });
                Box::new(PostgresDatabase::source(url, is_alone).await?)
            }
        })
    }

    async fn open_target(&self) -> Result<Box<dyn Database>> {
        Ok(match &self.to {
            // A backup is a file by itself; any other is the database of its folder.
            Place::Sqlite(file) if self.purpose == Purpose::Backup => {
                Box::new(SqliteDatabase::create(file, self.replace, false, &*self.clock)?)
            }
            Place::Sqlite(file) => Box::new(SqliteDatabase::create(file, self.replace, true, &*self.clock)?),
            Place::Postgres(url) => {
                let is_restore = self.purpose == Purpose::Restore;
                Box::new(PostgresDatabase::target(url, self.replace, is_restore).await?)
            }
        })
    }
}

/// A database that was moved may be copied again to where it went, because that may have been broken off. Any other target
/// would deliver beside the first.
async fn check_not_elsewhere(source: &mut dyn Database, to: &str) -> Result<()> {
    match source.moved_to().await? {
        Some(noted) if noted != to => Err(TransferError::Refused(format!(
            "it was already moved to {noted}: copy from there, or let this one serve again by `copy --undo`"
        ))),
        _ => Ok(()),
    }
}

/// The source serves again if the target surely does not.
async fn settle(source: &mut dyn Database, committed: Result<()>) -> Result<()> {
    if committed.as_ref().is_err_and(|error| !matches!(error, TransferError::Unclear(_))) {
        source.forget_moved().await?;
    }
    committed
}

/// What a PostgreSQL database is called, without its password: a move goes on to that name alone.
pub fn postgres_name(url: &str) -> Result<String> {
    Ok(database_name(url)?)
}

/// When a database was last backed up, in milliseconds since 1970; also while a server uses it.
pub async fn last_backup(place: &Place) -> Result<Option<i64>> {
    match place {
        Place::Sqlite(file) => sqlite::last_backup(file),
        Place::Postgres(url) => postgres::last_backup(url).await,
    }
}

/// Notes that a database was backed up now.
pub async fn note_backup(place: &Place, clock: &dyn Clock) -> Result<()> {
    match place {
        Place::Sqlite(file) => sqlite::note_backup(file, clock.now().as_millisecond()),
        Place::Postgres(url) => postgres::note_backup(url).await,
    }
}

/// Lets a database be used again that was moved. False if it was not.
pub async fn take_back(place: &Place) -> Result<bool> {
    match place {
        Place::Sqlite(file) => sqlite::take_back(file),
        Place::Postgres(url) => postgres::take_back(url).await,
    }
}

/// That a file holds one of our databases, as a backup does.
pub fn check_backup(file: &std::path::Path) -> Result<()> {
    sqlite::check_backup(file)
}

/// Puts a backup into the place of the database of a data folder, which nobody may use meanwhile. What was there is kept
/// beside it, under the name that is returned. How far it is told while it is copied; then it is looked over and brought up
/// to date.
pub fn restore_file(
    backup: &std::path::Path,
    file: &std::path::Path,
    clock: &dyn Clock,
    progress: &dyn Fn(PagesCopied),
) -> Result<Option<PathBuf>> {
    sqlite::restore(backup, file, clock, progress)
}

struct Counter<'a> {
    progress: &'a (dyn Fn(Progress) + Sync),
    done: u64,
    all: u64,
}

impl Counter<'_> {
    fn add(&mut self, table: &'static str, rows: usize) {
        self.done += rows as u64;
        (self.progress)(Progress { table, done: self.done, all: self.all.max(self.done) });
    }
}

async fn fill(
    source: &mut dyn Database,
    target: &mut dyn Database,
    counter: &mut Counter<'_>,
) -> Result<Vec<TableReport>> {
    target.begin_filling().await?;
    let mut sums = Vec::with_capacity(TABLES.len());
    for table in &TABLES {
        let columns = common_columns(source, target, table).await?;
        sums.push((columns.clone(), copy(source, target, table, &columns, counter).await?));
    }
    target.end_filling(&source.sequences().await?, source.last_change().await?).await?;
    let mut reports = Vec::with_capacity(TABLES.len());
    for (table, (columns, copied)) in TABLES.iter().zip(sums) {
        let stored = sum(target, table, &columns, counter).await?;
        let report = TableReport { table: table.name, source: copied, target: stored };
        if copied != stored {
            return Err(TransferError::Different(report));
        }
        reports.push(report);
    }
    Ok(reports)
}

/// The columns of a table, which must be the same in both.
async fn common_columns(
    source: &mut dyn Database,
    target: &mut dyn Database,
    table: &'static Table,
) -> Result<Vec<String>> {
    let (mut columns, mut others) = (source.columns(table).await?, target.columns(table).await?);
    columns.sort_unstable();
    others.sort_unstable();
    if columns == others && !columns.is_empty() {
        return Ok(columns);
    }
    Err(TransferError::Refused(format!("the table {} has other columns in each database", table.name)))
}

async fn copy(
    source: &mut dyn Database,
    target: &mut dyn Database,
    table: &'static Table,
    columns: &[String],
    counter: &mut Counter<'_>,
) -> Result<TableSum> {
    let (send_read, read) = mpsc::channel::<Vec<Row>>(BATCHES_WAITING_MAX);
    let (send_summed, summed) = mpsc::channel::<Vec<Row>>(1);
    let counting = async {
        let (mut read, mut sum) = (read, TableSum::default());
        while let Some(rows) = read.recv().await {
            sum.add(&rows);
            counter.add(table.name, rows.len());
            if send_summed.send(rows).await.is_err() {
                break;
            }
        }
        drop(send_summed);
        sum
    };
    let (read, sum, written) =
        tokio::join!(source.read(table, columns, send_read), counting, target.write(table, columns, summed));
    // If one side fails, the other only says that nobody listens.
    written?;
    read?;
    Ok(sum)
}

async fn sum(
    database: &mut dyn Database,
    table: &'static Table,
    columns: &[String],
    counter: &mut Counter<'_>,
) -> Result<TableSum> {
    let (send, mut batches) = mpsc::channel::<Vec<Row>>(BATCHES_WAITING_MAX);
    let counting = async {
        let mut sum = TableSum::default();
        while let Some(rows) = batches.recv().await {
            sum.add(&rows);
            counter.add(table.name, rows.len());
        }
        sum
    };
    let (read, sum) = tokio::join!(database.read(table, columns, send), counting);
    read?;
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use testkit::SimulatedClock;

    use super::*;

    #[tokio::test]
    async fn p4_source_serves_again_only_if_the_target_surely_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pirssonite.db");
        std::fs::write(&file, "").unwrap();
        let mut source = SqliteDatabase::open(&file, Arc::new(SimulatedClock::default())).unwrap();
        for (error, is_moved) in [
            (TransferError::Unclear("connection closed".to_owned()), true),
            (TransferError::Failed { store: "PostgreSQL", reason: "disk full".to_owned() }, false),
        ] {
            source.note_moved("there").await.unwrap();
            assert!(settle(&mut source, Err(error)).await.is_err());
            assert_eq!(source.moved_to().await.unwrap().is_some(), is_moved);
        }
        source.note_moved("there").await.unwrap();
        check_not_elsewhere(&mut source, "there").await.unwrap();
        assert!(check_not_elsewhere(&mut source, "elsewhere").await.is_err());
    }
}
