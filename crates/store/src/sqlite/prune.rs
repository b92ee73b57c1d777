//! What is read and old, or read and too much, goes, a chunk at a time: found by a reader, removed by the writer. What
//! is known of it is its identity, kept in the same transaction, so that it does not come back as new.

use std::collections::{BTreeMap, BTreeSet};

use domain::ports::{PruneLimits, StoreResult};
use rusqlite::{Connection, OptionalExtension, Result};

use super::{SqliteStore, queue::Lane, writer::Changes};
use crate::values::millis;

pub(super) const TOO_OLD: &str = "
SELECT id
FROM entries INDEXED BY entries_prunable
WHERE is_read = 1
  AND is_starred = 0
  AND received_at < ?
ORDER BY received_at
LIMIT ?";

const LARGE_FEEDS: &str = "SELECT id FROM feeds WHERE entry_count > ? ORDER BY id";

/// The newest of a feed's entries that is one too many.
pub(super) const FIRST_BEYOND: &str = "
SELECT sort_at, id
FROM entries INDEXED BY entries_of_feed
WHERE feed_id = ?
ORDER BY sort_at DESC, id DESC
LIMIT 1 OFFSET ?";

/// Of those beyond, what may go. Unread ones are passed over in the index.
pub(super) const BEYOND: &str = "
SELECT id
FROM entries INDEXED BY entries_prunable_of_feed
WHERE feed_id = ?
  AND is_read = 1
  AND is_starred = 0
  AND (sort_at, id) <= (?, ?)
ORDER BY sort_at DESC, id DESC
LIMIT ?";

const REMOVE: &str = "
DELETE FROM entries
WHERE id = ?
  AND is_read = 1
  AND is_starred = 0
RETURNING feed_id, identity";

const REMEMBER: &str = "
INSERT INTO pruned_entries (feed_id, identity)
VALUES (?, ?)
ON CONFLICT DO NOTHING";

const COUNT: &str = "
UPDATE feeds
SET entry_count = entry_count - ?2
WHERE id = ?1";

pub(super) async fn prune(store: &SqliteStore, limits: PruneLimits) -> StoreResult<u64> {
    let oldest = store.now() - millis(limits.read_older_than);
    let ids = store.readers.read(move |connection| find(connection, limits, oldest)).await?;
    if ids.is_empty() {
        return Ok(0);
    }
    store.writer.write(Lane::Usual, move |changes| remove(changes, &ids)).await
}

fn find(connection: &Connection, limits: PruneLimits, oldest: i64) -> Result<BTreeSet<i64>> {
    let chunk = usize::try_from(limits.chunk).unwrap_or(usize::MAX);
    let mut too_old = connection.prepare_cached(TOO_OLD)?;
    let mut found: BTreeSet<i64> =
        too_old.query_map([oldest, limits.chunk.into()], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut large = connection.prepare_cached(LARGE_FEEDS)?;
    let mut feeds = large.query([limits.per_feed])?;
    while found.len() < chunk {
        let Some(row) = feeds.next()? else { break };
        let left = chunk - found.len();
        // Both may find the same entry; it is removed once.
        found.extend(beyond(connection, row.get(0)?, limits)?.into_iter().take(left));
    }
    Ok(found)
}

fn beyond(connection: &Connection, feed: i64, limits: PruneLimits) -> Result<Vec<i64>> {
    let mut first = connection.prepare_cached(FIRST_BEYOND)?;
    let first: Option<(i64, i64)> =
        first.query_row((feed, limits.per_feed), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((sort_at, id)) = first else { return Ok(Vec::new()) };
    connection.prepare_cached(BEYOND)?.query_map((feed, sort_at, id, limits.chunk), |row| row.get(0))?.collect()
}

/// Guarded once more: an entry may have been starred since it was found.
fn remove(changes: &mut Changes<'_>, ids: &BTreeSet<i64>) -> Result<u64> {
    let connection = changes.connection;
    let mut by_feed: BTreeMap<i64, i64> = BTreeMap::new();
    let mut remove = connection.prepare_cached(REMOVE)?;
    let mut remember = connection.prepare_cached(REMEMBER)?;
    let mut removed = 0;
    for id in ids {
        let row = remove.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((feed, identity)): Option<(i64, [u8; 16])> = row else { continue };
        remember.execute((feed, identity))?;
        changes.words.remove(*id);
        *by_feed.entry(feed).or_default() += 1;
        removed += 1;
    }
    for (feed, count) in by_feed {
        connection.prepare_cached(COUNT)?.execute((feed, count))?;
    }
    Ok(removed)
}
