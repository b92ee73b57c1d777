//! The database's clock, watched: see [`clock`](crate::clock).

use std::time::Duration;

use deadpool_postgres::Client;
use tokio_postgres::Error;

use crate::clock::{duration, moves, set_back};
use crate::postgres::{execute, query_opt, shared::lending::long_work};

const SEEN: &str = include_str!("sql/clock_seen.sql");

const NOTE: &str = "UPDATE installation SET clock_ms = $1";

pub(crate) async fn watch(client: &mut Client) -> Result<Option<Duration>, Error> {
    let transaction = client.transaction().await?;
    let Some(row) = query_opt(&transaction, SEEN, &[]).await? else { return Ok(None) };
    let (seen_ms, now_ms): (i64, i64) = (row.get(0), row.get(1));
    let back_ms = set_back(seen_ms, now_ms);
    if let Some(back_ms) = back_ms {
        // There may be a million rows.
        long_work(&transaction).await?;
        for statement in moves("$1::bigint", "$2::bigint") {
            transaction.execute(&statement, &[&now_ms, &back_ms]).await?;
        }
    }
    let note = if back_ms.is_some() { now_ms } else { seen_ms.max(now_ms) };
    execute(&transaction, NOTE, &[&note]).await?;
    transaction.commit().await?;
    Ok(back_ms.map(duration))
}
