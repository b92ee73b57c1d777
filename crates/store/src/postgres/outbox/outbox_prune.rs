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

/// Webhooks with what is kept of them for how long at most; nothing is kept of those that were removed.
const KINDS: &str = "
SELECT id, status, CASE WHEN deleted_at IS NULL THEN kept_ms END
FROM webhooks
CROSS JOIN unnest(ARRAY['delivered', 'cancelled', 'failed', 'pending'], $1::bigint[]) AS kinds (status, kept_ms)
WHERE kept_ms IS NOT NULL OR deleted_at IS NOT NULL
ORDER BY id, status";

/// The first of one kind, after one.
const OF_KIND: &str = "
SELECT id, created_at, coalesce(ended_at, created_at)
FROM deliveries
WHERE webhook_id = $1
  AND status = $2
  AND id > $3
ORDER BY id
LIMIT $4";

/// As they stand now: one that was queued again meanwhile stays.
const REMOVE: &str = "
WITH held AS MATERIALIZED (
    SELECT id
    FROM deliveries
    WHERE id = ANY($1)
      AND status = $2
      AND coalesce(ended_at, created_at) < $3
    ORDER BY id
    FOR UPDATE
),
logs AS (
    DELETE FROM attempts
    WHERE delivery_id = ANY(ARRAY(SELECT id FROM held))
)
DELETE FROM deliveries
WHERE id = ANY(ARRAY(SELECT id FROM held))";

/// But for those that somebody holds, who may be about to queue something.
const REMOVE_WEBHOOKS: &str = "
DELETE FROM webhooks
WHERE id = ANY(ARRAY(
    SELECT id
    FROM webhooks
    WHERE deleted_at <= $1
      AND NOT EXISTS (SELECT FROM deliveries WHERE webhook_id = webhooks.id)
    ORDER BY id
    FOR UPDATE SKIP LOCKED
))";

/// Old events that nobody is told of any more, held so that nobody queues them again.
const EVENTS: &str = "
SELECT id
FROM events
WHERE created_at < $1
  AND (SELECT id FROM deliveries WHERE event_id = events.id LIMIT 1) IS NULL
ORDER BY created_at, id
LIMIT $2
FOR UPDATE SKIP LOCKED";

/// Looked at once more, now that they are held.
const REMOVE_EVENTS: &str = "
DELETE FROM events
WHERE id = ANY($1)
  AND (SELECT id FROM deliveries WHERE event_id = events.id LIMIT 1) IS NULL";

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
async fn prune_kind(client: &Client, webhook: i64, status: &str, older_than: i64, room: i64) -> Result<i64, Error> {
    let (mut after, mut removed) = (i64::MIN, 0);
    while removed < room {
        let rows = query(client, OF_KIND, &[&webhook, &status, &after, &LOOKED_AT]).await?;
        let Some(last) = rows.last() else { break };
        after = last.get(0);
        let is_last = last.get::<_, i64>(1) >= older_than;
        let old: Vec<i64> = rows.iter().filter(|row| row.get::<_, i64>(2) < older_than).map(|row| row.get(0)).collect();
        let old = &old[..old.len().min(usize::try_from(room - removed).unwrap_or(0))];
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
