//! What is read and old, or read and too much, goes, a chunk at a time. What is known of it is its identity, kept in
//! the same transaction, so that it does not come back as new.

use deadpool_postgres::{Client, Transaction};
use domain::ports::PruneLimits;
use tokio_postgres::{Error, Row};

use super::{
    execute, query,
    values::{count, millis, total},
};

const TOO_OLD: &str = "
SELECT id, feed_id
FROM entries
WHERE is_read
  AND NOT is_starred
  AND received_at < (SELECT pirssonite_now_ms()) - $1
ORDER BY received_at
LIMIT $2";

/// Only feeds with more than that many entries are looked at, and of them what lies beyond.
const TOO_MANY: &str = "
SELECT beyond.id, feeds.id
FROM feeds
CROSS JOIN LATERAL (
    SELECT sort_at, id
    FROM entries
    WHERE feed_id = feeds.id
    ORDER BY sort_at DESC, id DESC
    OFFSET $1
    LIMIT 1
) AS first_beyond
CROSS JOIN LATERAL (
    SELECT id
    FROM entries
    WHERE feed_id = feeds.id
      AND (sort_at, id) <= (first_beyond.sort_at, first_beyond.id)
      AND is_read
      AND NOT is_starred
    ORDER BY sort_at DESC, id DESC
    LIMIT $2
) AS beyond
WHERE feeds.entry_count > $1
LIMIT $2";

const LOCK_FEEDS: &str = "
SELECT id
FROM feeds
WHERE id = ANY($1)
ORDER BY id
FOR NO KEY UPDATE";

const REMOVE: &str = "
WITH removed AS (
    DELETE FROM entries
    WHERE id = ANY($1)
      AND is_read
      AND NOT is_starred
    RETURNING feed_id, identity
), remembered AS (
    INSERT INTO pruned_entries (feed_id, identity)
    SELECT feed_id, identity
    FROM removed
    ON CONFLICT DO NOTHING
), counted AS (
    UPDATE feeds
    SET entry_count = entry_count - removed.count
    FROM (SELECT feed_id, count(*) AS count FROM removed GROUP BY feed_id) AS removed
    WHERE feeds.id = removed.feed_id
)
SELECT count(*)
FROM removed";

pub(super) async fn prune(client: &mut Client, limits: PruneLimits) -> Result<u64, Error> {
    let transaction = client.transaction().await?;
    let chunk = i64::from(limits.chunk);
    let mut rows = query(&transaction, TOO_OLD, &[&millis(limits.read_older_than), &chunk]).await?;
    let left = chunk - total(rows.len());
    if left > 0 {
        // Both may find the same entry; it is removed once.
        rows.extend(query(&transaction, TOO_MANY, &[&i64::from(limits.per_feed), &left]).await?);
    }
    if rows.is_empty() {
        return Ok(0);
    }
    let removed = remove(&transaction, &rows).await?;
    transaction.commit().await?;
    Ok(removed)
}

async fn remove(transaction: &Transaction<'_>, rows: &[Row]) -> Result<u64, Error> {
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let mut feeds: Vec<i64> = rows.iter().map(|row| row.get(1)).collect();
    feeds.sort_unstable();
    feeds.dedup();
    execute(transaction, LOCK_FEEDS, &[&feeds]).await?;
    let removed = query(transaction, REMOVE, &[&ids]).await?;
    Ok(removed.first().map_or(0, |row| count(row.get(0))))
}
