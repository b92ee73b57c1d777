//! The floor: the rows of all unread entries with their texts, read by one statement along an index, and nothing made of them;
//! and some of them marked by one statement, with nothing counted.

use rusqlite::Connection;
use tokio_postgres::Client;

use super::Cost;
use crate::{
    fixture::{DATABASE, Fixture, StoreLocation},
    process,
};

const SQLITE: &str = "
SELECT entries.*, summary, content
FROM entry_states INDEXED BY states_unread_received
CROSS JOIN entries ON entries.id = entry_states.entry_id
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE account_id = 1 AND is_read = 0
ORDER BY entry_states.received_at, entry_states.entry_id";

const POSTGRES: &str = "
SELECT entries.*, summary, content
FROM entry_states
JOIN entries ON entries.id = entry_states.entry_id
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE account_id = 1 AND NOT is_read
ORDER BY entry_states.received_at, entry_states.entry_id";

/// The newest, as apps mark them; written as durably as by the server.
const MARK_SQLITE: &str = "
UPDATE entry_states
SET is_read = 1
WHERE account_id = 1
  AND entry_id IN (
      SELECT entry_id
      FROM entry_states INDEXED BY states_unread_received
      WHERE account_id = 1 AND is_read = 0
      ORDER BY received_at DESC, entry_id DESC
      LIMIT ?
  )";

const MARK_POSTGRES: &str = "
UPDATE entry_states
SET is_read = true
WHERE account_id = 1
  AND entry_id IN (
      SELECT entry_id
      FROM entry_states
      WHERE account_id = 1 AND NOT is_read
      ORDER BY received_at DESC, entry_id DESC
      LIMIT $1
  )";

pub(super) async fn walk(location: &StoreLocation) -> anyhow::Result<Cost> {
    measure(location, super::UNREAD, walk_sqlite, async |client| Ok(client.query(POSTGRES, &[]).await?.len())).await
}

pub(super) async fn mark(location: &StoreLocation) -> anyhow::Result<Cost> {
    let count = i64::try_from(super::MARKED)?;
    let marked = async |client: &Client| Ok(usize::try_from(client.execute(MARK_POSTGRES, &[&count]).await?)?);
    measure(location, super::MARKED, |connection| Ok(connection.execute(MARK_SQLITE, [count])?), marked).await
}

/// What one statement costs that has to do with so many rows.
async fn measure(
    location: &StoreLocation,
    expected: usize,
    on_sqlite: impl FnOnce(&Connection) -> anyhow::Result<usize>,
    on_postgres: impl AsyncFnOnce(&Client) -> anyhow::Result<usize>,
) -> anyhow::Result<Cost> {
    let (secs, cpu_secs) = (process::wall_secs(), process::cpu_secs());
    let (rows, database_secs) = match location {
        StoreLocation::Sqlite { folder } => (on_sqlite(&Connection::open(folder.join(DATABASE))?)?, 0.0),
        StoreLocation::Postgres { url } => {
            let fixture = Fixture::open(location).await?;
            let before = fixture.database_cpu_secs();
            let rows = on_postgres(&crate::postgres::connect(url).await?).await?;
            (rows, fixture.database_cpu_secs() - before)
        }
    };
    anyhow::ensure!(rows == expected, "{rows} rows");
    let cpu_secs = process::cpu_secs() - cpu_secs + database_secs;
    Ok(Cost { requests: 1, secs: process::wall_secs() - secs, cpu_secs })
}

fn walk_sqlite(connection: &Connection) -> anyhow::Result<usize> {
    let mut statement = connection.prepare(SQLITE)?;
    let columns = statement.column_count();
    let (mut rows, mut count) = (statement.query([])?, 0);
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            std::hint::black_box(row.get_ref(column)?);
        }
        count += 1;
    }
    Ok(count)
}
