//! What is old, or read and too much, goes, a chunk at a time: found by a reader, removed by the writer. What
//! is known of it is its identity, kept in the same transaction, so that it does not come back as new.

use std::collections::{BTreeMap, BTreeSet};

use domain::ports::{PruneLimits, StoreResult};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{
    SqliteStore,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{millis, usize_to_i64};

pub(crate) const TOO_OLD: &str = include_str!("sql/prune_too_old.sql");

const LARGE_FEEDS: &str = "SELECT id FROM feeds WHERE entry_count > ? ORDER BY id";

pub(crate) const FIRST_BEYOND: &str = include_str!("sql/prune_first_beyond.sql");

pub(crate) const BEYOND: &str = include_str!("sql/prune_beyond.sql");

const REMOVE: &str = include_str!("sql/prune_remove.sql");

const REMEMBER: &str = include_str!("sql/prune_remember.sql");

const COUNT: &str = include_str!("sql/prune_count.sql");

pub(crate) async fn prune(store: &SqliteStore, limits: PruneLimits) -> StoreResult<u64> {
    let now = store.now();
    let read_before = now - millis(limits.read_older_than);
    let unread_before = limits.unread_older_than.map_or(i64::MIN, |age| now - millis(age));
    let ids = store.slow_readers.read(move |connection| find(connection, limits, read_before, unread_before)).await?;
    if ids.is_empty() {
        return Ok(0);
    }
    store.writer.write(Priority::Usual, move |changes| remove(changes, &ids, unread_before)).await
}

fn find(connection: &Connection, limits: PruneLimits, read_before: i64, unread_before: i64) -> Result<BTreeSet<i64>> {
    let chunk = usize::try_from(limits.chunk).unwrap_or(usize::MAX);
    let mut too_old = connection.prepare_cached(TOO_OLD)?;
    let mut found = BTreeSet::new();
    for (before, is_read) in [(read_before, true), (unread_before, false)] {
        let ids =
            too_old.query_map((before, usize_to_i64(chunk - found.len()), is_read), |row| row.get::<_, i64>(0))?;
        for id in ids {
            found.insert(id?);
        }
    }
    let mut large = connection.prepare_cached(LARGE_FEEDS)?;
    let mut feeds = large.query([limits.per_feed])?;
    while found.len() < chunk {
        let Some(row) = feeds.next()? else { break };
        let left = chunk - found.len();
        // This may find an entry that is there already; it is removed once.
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

fn remove(changes: &mut WriteTx<'_>, ids: &BTreeSet<i64>, unread_before: i64) -> Result<u64> {
    let connection = changes.connection;
    // Of each feed all, and those that were unread.
    let mut by_feed: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let mut remove = connection.prepare_cached(REMOVE)?;
    let mut remember = connection.prepare_cached(REMEMBER)?;
    let mut removed = 0;
    for id in ids {
        let row = remove.query_row((id, unread_before), |row| {
            let (feed, is_read): (i64, bool) = (row.get(0)?, row.get(1)?);
            let recognised_by: ([u8; 16], i64, i64, [u8; 16]) = (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
            Ok((feed, is_read, recognised_by))
        });
        let Some((feed, is_read, (identity, link, title, fingerprint))) = row.optional()? else { continue };
        remember.execute((feed, identity, link, title, fingerprint))?;
        changes.words.remove(*id);
        let (entries, unread) = by_feed.entry(feed).or_default();
        *entries += 1;
        *unread += i64::from(!is_read);
        removed += 1;
    }
    for (feed, (entries, unread)) in by_feed {
        connection.prepare_cached(COUNT)?.execute((feed, entries, unread))?;
    }
    changes.log.entries_removed(removed);
    Ok(removed)
}
