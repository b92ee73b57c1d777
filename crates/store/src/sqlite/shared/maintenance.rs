//! What was done with the database as a whole, and whether it may be used.

use rusqlite::{Connection, Result};

use crate::{OpenError, open_error::day, sqlite::shared::migrate::unavailable};

pub(crate) const BACKUP: &str = "backup";
pub(crate) const MOVED: &str = "moved";

/// That it was not moved. (One that is being filled has another name here: nobody opens it.)
pub(crate) fn check(connection: &Connection) -> std::result::Result<(), OpenError> {
    let mut moved = connection.prepare("SELECT at, detail FROM maintenance WHERE name = ?").map_err(unavailable)?;
    let mut moved = moved.query([MOVED]).map_err(unavailable)?;
    match moved.next().map_err(unavailable)? {
        None => Ok(()),
        Some(row) => Err(OpenError::Moved {
            on: day(row.get(0).map_err(unavailable)?),
            to: row.get::<_, Option<String>>(1).map_err(unavailable)?.unwrap_or_default(),
        }),
    }
}

pub(crate) fn note(connection: &Connection, name: &str, now: i64, detail: &str) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO maintenance (name, at, detail) VALUES (?, ?, ?)";
    connection.execute(sql, (name, now, detail)).map(drop)
}

/// False if there was no such note.
pub(crate) fn forget(connection: &Connection, name: &str) -> Result<bool> {
    connection.execute("DELETE FROM maintenance WHERE name = ?", [name]).map(|rows| rows > 0)
}
