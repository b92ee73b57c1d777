//! A copy of the database while it runs: of one moment, by a connection of its own, which holds nobody up.

use std::{ffi::c_int, path::Path};

use domain::ports::{StoreError, StoreResult};
use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
};

use crate::sqlite::shared::{connection, errors, files};

/// Pages that are copied before somebody is told how far it is: 16 MiB.
const STEP_PAGES: c_int = 4096;

/// How far a copy of a file is, in pages of the database.
#[derive(Debug, Clone, Copy)]
pub struct PagesCopied {
    pub done: u64,
    pub all: u64,
}

pub(crate) fn copy(database: &Path, file: &Path, progress: &dyn Fn(PagesCopied)) -> StoreResult<()> {
    let refused = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => StoreError::Failed(format!("{} already exists", file.display())),
        _ => StoreError::Failed(format!("{}: {error}", file.display())),
    };
    files::open_private(file, true).map_err(refused)?;
    let copied = match copy_pages(database, file, progress) {
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
fn copy_pages(database: &Path, file: &Path, progress: &dyn Fn(PagesCopied)) -> rusqlite::Result<bool> {
    let source = connection::reader(database)?;
    let mut copy = Connection::open(file)?;
    // All steps read what this transaction sees. Without it, a write between two would start the copy over.
    let moment = source.unchecked_transaction()?;
    moment.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
    if !copy_in_steps(&moment, &mut copy, progress)? {
        return Ok(false);
    }
    drop(moment);
    // In one file, without a write-ahead log beside it.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    copy.close().map(|()| true).map_err(|(_, error)| error)
}

fn copy_in_steps(source: &Connection, copy: &mut Connection, progress: &dyn Fn(PagesCopied)) -> rusqlite::Result<bool> {
    let backup = Backup::new(source, copy)?;
    loop {
        let step = backup.step(STEP_PAGES)?;
        let pages = backup.progress();
        let copied = pages.pagecount - pages.remaining;
        progress(PagesCopied { done: copied.unsigned_abs().into(), all: pages.pagecount.unsigned_abs().into() });
        match step {
            StepResult::Done => return Ok(true),
            StepResult::More => {}
            _ => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn p4_copy_in_steps_is_of_one_moment_and_says_how_far_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (file, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
        let source = Connection::open(&file).unwrap();
        // Small pages: several steps make a small file.
        source
            .execute_batch("PRAGMA page_size = 512; PRAGMA journal_mode = WAL; CREATE TABLE rows (row BLOB)")
            .unwrap();
        source.execute("INSERT INTO rows VALUES (zeroblob(5000000))", []).unwrap();
        let told = RefCell::new(Vec::new());
        let progress = |pages: PagesCopied| {
            source.execute("INSERT INTO rows VALUES (zeroblob(1000))", []).unwrap();
            told.borrow_mut().push(pages);
        };
        copy(&file, &to, &progress).unwrap();
        let told = told.into_inner();
        assert!(told.len() > 2, "{told:?}");
        assert!(told.is_sorted_by(|one, next| one.done < next.done && one.all == next.all), "{told:?}");
        assert!(told.last().is_some_and(|last| last.done == last.all), "{told:?}");
        let copied = Connection::open(&to).unwrap();
        let rows: i64 = copied.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1, "what was written meanwhile is not in it");
    }
}
