//! How a connection is set up.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::OpenError;
use crate::sqlite::{SqliteOptions, Synchronous, shared::migrate::unavailable};

/// How long to wait for a lock of another process, such as a person's `sqlite3`.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Memory for pages of the writer: the ends of a dozen indexes that every new entry touches.
const WRITER_CACHE_KIB: i64 = 8 * 1024;
/// Memory for pages of each reader.
const READER_CACHE_KIB: i64 = 6 * 1024;
/// What the log is cut back to after it has grown, while someone was reading for long.
const LOG_BYTES_MAX: i64 = 32 * 1024 * 1024;
/// Rows that are looked at for statistics, at most, of each index.
const ANALYSIS_ROWS_MAX: i64 = 400;
/// Statements that a connection keeps prepared.
const STATEMENTS_MAX: usize = 224;

pub(crate) fn writer(database: &Path, options: &SqliteOptions) -> Result<Connection, OpenError> {
    let connection = open(database).map_err(unavailable)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(unavailable)?;
    if mode != "wal" {
        let reason = "its folder takes no write-ahead log: choose one on a local disk";
        return Err(OpenError::Unsuitable(reason.to_owned()));
    }
    set_up_writer(&connection, options).map_err(unavailable)?;
    Ok(connection)
}

/// The one that moves the log into the database, as durably as the writer writes.
pub(crate) fn checkpointer(database: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let connection = open(database)?;
    set_synchronous(&connection, options)?;
    Ok(connection)
}

pub(crate) fn reader(database: &Path) -> rusqlite::Result<Connection> {
    let connection = open(database)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

/// One for a single statement, also while a server uses the database.
pub(crate) fn any(database: &Path) -> rusqlite::Result<Connection> {
    open(database)
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    // No URIs: a question mark in a folder's name is just that.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // A plan does not depend on the values that are bound. Otherwise, once there are statistics, a statement that looks
    // something up is prepared again whenever it is given another value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

fn set_synchronous(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    let synchronous = match options.synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Off => "OFF",
    };
    connection.pragma_update(None, "synchronous", synchronous)
}

fn set_up_writer(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    set_synchronous(connection, options)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)?;
    connection.pragma_update(None, "analysis_limit", ANALYSIS_ROWS_MAX)
}
