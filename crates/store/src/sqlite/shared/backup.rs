//! A copy of the database while it runs: of one moment, by a connection of its own, which holds nobody up.

use std::path::Path;

use domain::ports::{StoreError, StoreResult};
use rusqlite::backup::{Backup, StepResult};

use crate::sqlite::shared::{connection, errors, files};

pub(crate) fn copy(database: &Path, file: &Path) -> StoreResult<()> {
    let refused = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => StoreError::Failed(format!("{} already exists", file.display())),
        _ => StoreError::Failed(format!("{}: {error}", file.display())),
    };
    files::open_private(file, true).map_err(refused)?;
    let copied = match copy_pages(database, file) {
        Ok(true) => Ok(()),
        Ok(false) => Err(StoreError::Unavailable("another process holds the database".to_owned())),
        Err(error) => Err(errors::store_error(&error)),
    };
    if copied.is_err() {
        // Half a backup is none.
        let _ = std::fs::remove_file(file);
    }
    copied
}

/// False if another process kept it from being read.
fn copy_pages(database: &Path, file: &Path) -> rusqlite::Result<bool> {
    let source = connection::reader(database)?;
    let mut copy = rusqlite::Connection::open(file)?;
    // All pages in one step: between two, a write would start it over.
    if Backup::new(&source, &mut copy)?.step(-1)? != StepResult::Done {
        return Ok(false);
    }
    // In one file, without a write-ahead log beside it.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    copy.close().map(|()| true).map_err(|(_, error)| error)
}
