//! The machine's clock, watched: see [`clock`](crate::clock). The process's own does not go back, but it may be another
//! one's by the time that the next begins.

use std::time::Duration;

use rusqlite::{Connection, Result};

use crate::clock::{duration, moves, set_back};

pub(crate) fn watch(connection: &Connection, now_ms: i64) -> Result<Option<Duration>> {
    let seen_ms: i64 = connection.query_row("SELECT clock_ms FROM installation", [], |row| row.get(0))?;
    let back_ms = set_back(seen_ms, now_ms);
    if let Some(back_ms) = back_ms {
        for statement in moves("?1", "?2") {
            connection.execute(&statement, (now_ms, back_ms))?;
        }
    }
    let note = if back_ms.is_some() { now_ms } else { seen_ms.max(now_ms) };
    connection.execute("UPDATE installation SET clock_ms = ?", [note])?;
    Ok(back_ms.map(duration))
}
