//! What accounts have of entries that are old, or read and too many, goes, a chunk at a time. An entry goes with the last that
//! somebody has of it. What is known of it is its identity, kept in the same transaction, so that it does not come back as
//! new. As long as the last document of its feed holds it, all of it is kept, for whoever begins to follow the feed.

use deadpool_postgres::{Client, Transaction};
use domain::{FeedId, changes::ChangeLog, ports::PruneLimits};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    PostgresStore, execute, now_ms, query,
    shared::values::{millis, usize_to_i64},
};

const TOO_OLD: &str = include_str!("sql/prune_too_old.sql");

const TOO_MANY: &str = include_str!("sql/prune_too_many.sql");

const LOCK_FEEDS: &str = include_str!("sql/prune_lock_feeds.sql");

const LOCK_FOLLOWS: &str = include_str!("sql/prune_lock_follows.sql");

const REMOVE: &str = include_str!("sql/prune_remove.sql");

const END_KEEPING: &str = include_str!("sql/prune_end_keeping.sql");

const REMOVE_ENTRIES: &str = include_str!("sql/prune_remove_entries.sql");

pub(crate) async fn prune(store: &PostgresStore, client: &mut Client, limits: PruneLimits) -> Result<u64, Error> {
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
        // This may find what is there already; it is removed once.
        rows.extend(query(&transaction, TOO_MANY, &[&i64::from(limits.per_feed), &left]).await?);
    }
    if rows.is_empty() {
        return Ok(0);
    }
    let removed = remove(&transaction, &rows, unread_before).await?;
    let mut log = ChangeLog::default();
    log.entries_removed(removed);
    store.commit(transaction, log).await?;
    Ok(removed)
}

async fn remove(transaction: &Transaction<'_>, rows: &[Row], unread_before: i64) -> Result<u64, Error> {
    let column = |place: usize| -> Vec<i64> { rows.iter().map(|row| row.get(place)).collect() };
    let [entries, accounts, feeds] = [0, 1, 2].map(column);
    execute(transaction, LOCK_FEEDS, &[&feeds]).await?;
    execute(transaction, LOCK_FOLLOWS, &[&feeds, &accounts]).await?;
    let removed = query(transaction, REMOVE, &[&entries, &accounts, &unread_before]).await?;
    remove_entries(transaction, &removed).await?;
    Ok(removed.len() as u64)
}

/// Removes those of these entries that nobody has any more, and remembers them, or keeps them if the last document of their
/// feed holds them. Their feeds' rows are locked.
pub(crate) async fn remove_entries(transaction: &Transaction<'_>, left: &[Row]) -> Result<(), Error> {
    take_out(transaction, left, true).await
}

/// The same of a feed that will go itself: nothing is kept.
pub(crate) async fn remove_all_entries(transaction: &Transaction<'_>, left: &[Row]) -> Result<(), Error> {
    take_out(transaction, left, false).await
}

async fn take_out(transaction: &Transaction<'_>, left: &[Row], are_kept: bool) -> Result<(), Error> {
    let mut left: Vec<i64> = left.iter().map(|row| row.get(0)).collect();
    left.sort_unstable();
    left.dedup();
    if left.is_empty() {
        return Ok(());
    }
    execute(transaction, REMOVE_ENTRIES, &[&left, &are_kept]).await.map(drop)
}

/// Somebody has all entries of a feed again: they count, and none is kept for others.
pub(crate) async fn end_keeping(transaction: &Transaction<'_>, feed: FeedId) -> Result<(), Error> {
    execute(transaction, END_KEEPING, &[&feed.0]).await.map(drop)
}
