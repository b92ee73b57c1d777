//! Deliveries that have been done with for long enough go, then what they were of, a chunk at a time; and all of a
//! webhook that was removed.

use deadpool_postgres::{Client, GenericClient};
use domain::delivery::{OutboxLimits, REMOVED_KEPT};
use tokio_postgres::Error;

use crate::postgres::{
    execute, now_ms, query,
    shared::values::{count, millis, usize_to_i64},
};

/// Rows that are looked at in one statement.
const LOOKED_AT: i64 = 1000;

const KINDS: &str = include_str!("sql/outbox_prune_kinds.sql");

const OF_KIND: &str = include_str!("sql/outbox_prune_of_kind.sql");

const REMOVE: &str = include_str!("sql/outbox_prune_remove.sql");

const REMOVE_WEBHOOKS: &str = include_str!("sql/outbox_prune_remove_webhooks.sql");

const EVENTS: &str = include_str!("sql/outbox_prune_events.sql");

const REMOVE_EVENTS: &str = include_str!("sql/outbox_prune_remove_events.sql");

pub(crate) async fn prune(client: &mut Client, limits: OutboxLimits) -> Result<u64, Error> {
    let (now, chunk) = (now_ms(client).await?, i64::from(limits.chunk));
    let (delivered, failed) = (millis(limits.delivered_older_than), millis(limits.failed_older_than));
    // In the order of the statement; what is pending is kept.
    let kept = [Some(delivered), Some(delivered), Some(failed), None];
    let kinds = query(client, KINDS, &[&kept.as_slice()]).await?;
    let mut removed = 0;
    for row in &kinds {
        let (webhook, status): (i64, &str) = (row.get(0), row.get(1));
        let older_than = row.get::<_, Option<i64>>(2).map_or(i64::MAX, |kept| now - kept);
        removed += prune_kind(client, webhook, status, older_than, chunk - removed).await?;
    }
    execute(client, REMOVE_WEBHOOKS, &[&(now - millis(REMOVED_KEPT))]).await?;
    Ok(count(removed) + prune_events(client, now - delivered, chunk).await?)
}

/// Walks deliveries of one kind from the first on. They were queued in the order of their ids: the first that is too
/// young ends the walk.
async fn prune_kind(client: &Client, webhook: i64, status: &str, older_than: i64, rows_max: i64) -> Result<i64, Error> {
    let (mut after, mut removed) = (i64::MIN, 0);
    while removed < rows_max {
        let rows = query(client, OF_KIND, &[&webhook, &status, &after, &LOOKED_AT]).await?;
        let Some(last) = rows.last() else { break };
        after = last.get(0);
        let is_last = last.get::<_, i64>(1) >= older_than;
        let old: Vec<i64> = rows.iter().filter(|row| row.get::<_, i64>(2) < older_than).map(|row| row.get(0)).collect();
        let old = &old[..old.len().min(usize::try_from(rows_max - removed).unwrap_or(0))];
        if !old.is_empty() {
            removed +=
                usize_to_i64(usize::try_from(remove(client, old, status, older_than).await?).unwrap_or(usize::MAX));
        }
        if is_last {
            break;
        }
    }
    Ok(removed)
}

async fn remove(client: &impl GenericClient, ids: &[i64], status: &str, older_than: i64) -> Result<u64, Error> {
    execute(client, REMOVE, &[&ids, &status, &older_than]).await
}

async fn prune_events(client: &mut Client, older_than: i64, chunk: i64) -> Result<u64, Error> {
    let transaction = client.transaction().await?;
    let rows = query(&transaction, EVENTS, &[&older_than, &chunk]).await?;
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    if ids.is_empty() {
        return Ok(0);
    }
    let removed = execute(&transaction, REMOVE_EVENTS, &[&ids]).await?;
    transaction.commit().await?;
    Ok(removed)
}
