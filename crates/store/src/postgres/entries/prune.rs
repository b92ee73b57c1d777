//! What is old, or read and too much, goes, a chunk at a time. What is known of it is its identity, kept in
//! the same transaction, so that it does not come back as new.

use deadpool_postgres::{Client, Transaction};
use domain::ports::PruneLimits;
use tokio_postgres::{Error, Row};

use crate::postgres::{
    execute, now_ms, query,
    shared::values::{count, millis, usize_to_i64},
};

/// With a value for `is_read`, not a condition, the index is walked from its start.
const TOO_OLD: &str = "
SELECT id, feed_id
FROM entries
WHERE is_read = $3
  AND NOT is_starred
  AND received_at < $1
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

/// Guarded once more: an entry may have been starred, or marked as unread, since it was found.
const REMOVE: &str = "
WITH removed AS (
    DELETE FROM entries
    WHERE id = ANY($1)
      AND (is_read OR received_at < $2)
      AND NOT is_starred
    RETURNING feed_id, identity, link_trait, title_trait, fingerprint, is_read
), remembered AS (
    INSERT INTO pruned_entries (feed_id, identity, link_trait, title_trait, fingerprint)
    SELECT feed_id, identity, link_trait, title_trait, fingerprint
    FROM removed
    ON CONFLICT DO NOTHING
), counted AS (
    UPDATE feeds
    SET entry_count = entry_count - removed.count,
        unread_count = unread_count - removed.unread
    FROM (
        SELECT feed_id, count(*) AS count, count(*) FILTER (WHERE NOT is_read) AS unread
        FROM removed
        GROUP BY feed_id
    ) AS removed
    WHERE feeds.id = removed.feed_id
)
SELECT count(*)
FROM removed";

pub(crate) async fn prune(client: &mut Client, limits: PruneLimits) -> Result<u64, Error> {
    let transaction = client.transaction().await?;
    let chunk = i64::from(limits.chunk);
    let now = now_ms(&transaction).await?;
    let read_before = now - millis(limits.read_older_than);
    let unread_before = limits.unread_older_than.map_or(i64::MIN, |age| now - millis(age));
    let mut rows = query(&transaction, TOO_OLD, &[&read_before, &chunk, &true]).await?;
    let left = chunk - usize_to_i64(rows.len());
    if left > 0 {
        rows.extend(query(&transaction, TOO_OLD, &[&unread_before, &left, &false]).await?);
    }
    let left = chunk - usize_to_i64(rows.len());
    if left > 0 {
        // This may find an entry that is there already; it is removed once.
        rows.extend(query(&transaction, TOO_MANY, &[&i64::from(limits.per_feed), &left]).await?);
    }
    if rows.is_empty() {
        return Ok(0);
    }
    let removed = remove(&transaction, &rows, unread_before).await?;
    transaction.commit().await?;
    Ok(removed)
}

async fn remove(transaction: &Transaction<'_>, rows: &[Row], unread_before: i64) -> Result<u64, Error> {
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let mut feeds: Vec<i64> = rows.iter().map(|row| row.get(1)).collect();
    feeds.sort_unstable();
    feeds.dedup();
    execute(transaction, LOCK_FEEDS, &[&feeds]).await?;
    let removed = query(transaction, REMOVE, &[&ids, &unread_before]).await?;
    Ok(removed.first().map_or(0, |row| count(row.get(0))))
}
