//! Counts what the stores keep counts of, and looks whether every follower has every entry.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::FreshPostgres;

const MISCOUNTS: &str = include_str!("miscounts.sql");

/// What is wrong in an SQLite database, a line each: nothing, as a rule. Another process may have it.
///
/// # Panics
///
/// If it cannot be read.
pub fn sqlite_miscounts(file: &Path) -> Vec<String> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE).expect("it can be opened");
    let mut statement = connection.prepare(MISCOUNTS).expect("the schema is known");
    let lines = statement.query_map([], |row| row.get(0)).expect("it can be read");
    lines.collect::<Result<_, _>>().expect("it can be read to its end")
}

impl FreshPostgres {
    /// What is wrong in it, a line each: nothing, as a rule.
    ///
    /// # Panics
    ///
    /// If it cannot be read.
    pub async fn miscounts(&self) -> Vec<String> {
        let rows = self.client().await.query(MISCOUNTS, &[]).await.expect("it can be read");
        rows.iter().map(|row| row.get(0)).collect()
    }
}
