//! The floor: the rows of all unread entries with their texts, read by one statement along an index, and nothing made of them.

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

pub(super) async fn walk(location: &StoreLocation) -> anyhow::Result<Cost> {
    let (secs, cpu_secs) = (process::wall_secs(), process::cpu_secs());
    let (rows, database_secs) = match location {
        StoreLocation::Sqlite { folder } => (sqlite(&folder.join(DATABASE))?, 0.0),
        StoreLocation::Postgres { url } => {
            let fixture = Fixture::open(location).await?;
            let before = fixture.database_cpu_secs();
            let rows = crate::postgres::connect(url).await?.query(POSTGRES, &[]).await?.len();
            (rows, fixture.database_cpu_secs() - before)
        }
    };
    anyhow::ensure!(rows == super::UNREAD, "{rows} rows");
    let cpu_secs = process::cpu_secs() - cpu_secs + database_secs;
    Ok(Cost { requests: 1, secs: process::wall_secs() - secs, cpu_secs })
}

fn sqlite(file: &std::path::Path) -> anyhow::Result<usize> {
    let connection = rusqlite::Connection::open(file)?;
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
