//! What is old, or read and too much, goes, a chunk at a time: found by a reader, removed by the writer. What
//! is known of it is its identity, kept in the same transaction, so that it does not come back as new. As long as the last
//! document of its feed holds it, all of it is kept, for whoever begins to follow the feed.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    FeedId,
    ports::{PruneLimits, StoreResult},
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    SqliteStore,
    entries::entry_states::add_unread,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{count, millis, usize_to_i64};

pub(crate) const TOO_OLD: &str = include_str!("sql/prune_too_old.sql");

const LARGE_FEEDS: &str = "SELECT id FROM feeds WHERE entry_count > ? ORDER BY id";

pub(crate) const FIRST_BEYOND: &str = include_str!("sql/prune_first_beyond.sql");

pub(crate) const BEYOND: &str = include_str!("sql/prune_beyond.sql");

const REMOVE: &str = include_str!("sql/prune_remove.sql");

pub(crate) const KEEP: &str = include_str!("sql/prune_keep.sql");

pub(crate) const END_KEEPING: &str =
    "UPDATE entries INDEXED BY entries_kept SET is_kept = 0 WHERE feed_id = ? AND is_kept = 1";

pub(crate) const REMOVE_ENTRY: &str = include_str!("sql/prune_remove_entry.sql");

const REMEMBER: &str = include_str!("sql/prune_remember.sql");

const COUNT: &str = include_str!("sql/prune_count.sql");

/// What an account has of an entry: the entry, and the account.
type State = (i64, i64);

pub(crate) async fn prune(store: &SqliteStore, limits: PruneLimits) -> StoreResult<u64> {
    let now = store.now();
    let read_before = now - millis(limits.read_older_than);
    let unread_before = limits.unread_older_than.map_or(i64::MIN, |age| now - millis(age));
    let found = store.slow_readers.read(move |connection| find(connection, limits, read_before, unread_before)).await?;
    if found.is_empty() {
        return Ok(0);
    }
    store.writer.write(Priority::Usual, move |changes| remove(changes, &found, unread_before)).await
}

fn find(connection: &Connection, limits: PruneLimits, read_before: i64, unread_before: i64) -> Result<BTreeSet<State>> {
    let chunk = usize::try_from(limits.chunk).unwrap_or(usize::MAX);
    let mut too_old = connection.prepare_cached(TOO_OLD)?;
    let mut found = BTreeSet::new();
    for (before, is_read) in [(read_before, true), (unread_before, false)] {
        for state in too_old.query_map((before, usize_to_i64(chunk - found.len()), is_read), state_of)? {
            found.insert(state?);
        }
    }
    let mut large = connection.prepare_cached(LARGE_FEEDS)?;
    let mut feeds = large.query([limits.per_feed])?;
    while found.len() < chunk {
        let Some(row) = feeds.next()? else { break };
        let left = chunk - found.len();
        // This may find what is there already; it is removed once.
        found.extend(beyond(connection, row.get(0)?, limits)?.into_iter().take(left));
    }
    Ok(found)
}

fn beyond(connection: &Connection, feed: i64, limits: PruneLimits) -> Result<Vec<State>> {
    let mut first = connection.prepare_cached(FIRST_BEYOND)?;
    let first: Option<(i64, i64)> =
        first.query_row((feed, limits.per_feed), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((sort_at, id)) = first else { return Ok(Vec::new()) };
    connection.prepare_cached(BEYOND)?.query_map((feed, sort_at, id, limits.chunk), state_of)?.collect()
}

fn state_of(row: &Row<'_>) -> Result<State> {
    Ok((row.get(0)?, row.get(1)?))
}

fn remove(changes: &mut WriteTx<'_>, states: &BTreeSet<State>, unread_before: i64) -> Result<u64> {
    let connection = changes.connection;
    // Of each feed and account those that were unread.
    let mut unread: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    let mut remove = connection.prepare_cached(REMOVE)?;
    let mut removed = Vec::new();
    for (entry, account) in states {
        let row = remove
            .query_row((entry, account, unread_before), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?)));
        let Some((feed, is_read)) = row.optional()? else { continue };
        *unread.entry((feed, *account)).or_default() += i64::from(!is_read);
        removed.push(*entry);
    }
    for ((feed, account), unread) in unread.into_iter().filter(|(_, unread)| *unread > 0) {
        add_unread(connection, feed, account, -unread)?;
    }
    let count = count(usize_to_i64(removed.len()));
    removed.dedup();
    remove_entries(changes, removed)?;
    changes.log.entries_removed(count);
    Ok(count)
}

/// Removes those of these entries that nobody has any more, and remembers them, or keeps them if the last document of their
/// feed holds them. None of them is kept so far.
pub(crate) fn remove_entries(changes: &mut WriteTx<'_>, ids: impl IntoIterator<Item = i64>) -> Result<()> {
    take_out(changes, ids, true)
}

/// The same of a feed that will go itself: nothing is kept.
pub(crate) fn remove_all_entries(changes: &mut WriteTx<'_>, ids: impl IntoIterator<Item = i64>) -> Result<()> {
    take_out(changes, ids, false)
}

fn take_out(changes: &mut WriteTx<'_>, ids: impl IntoIterator<Item = i64>, are_kept: bool) -> Result<()> {
    let connection = changes.connection;
    let mut by_feed: BTreeMap<i64, i64> = BTreeMap::new();
    let mut keep = connection.prepare_cached(KEEP)?;
    let mut remove = connection.prepare_cached(REMOVE_ENTRY)?;
    let mut remember = connection.prepare_cached(REMEMBER)?;
    for id in ids {
        let kept = if are_kept { keep.query_row([id], |row| row.get(0)).optional()? } else { None };
        if let Some(feed) = kept {
            *by_feed.entry(feed).or_default() += 1;
            continue;
        }
        let row = remove.query_row([id], |row| {
            let recognised_by: ([u8; 16], i64, i64, [u8; 16]) = (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
            Ok((row.get(0)?, recognised_by, row.get::<_, bool>(5)?))
        });
        let Some((feed, (identity, link, title, fingerprint), was_kept)) = row.optional()? else { continue };
        remember.execute((feed, identity, link, title, fingerprint))?;
        changes.words.remove(id);
        *by_feed.entry(feed).or_default() += i64::from(!was_kept);
    }
    for (feed, entries) in by_feed {
        connection.prepare_cached(COUNT)?.execute((feed, entries))?;
    }
    Ok(())
}

/// Somebody has all entries of a feed again: they count, and none is kept for others.
pub(crate) fn end_keeping(connection: &Connection, feed: FeedId) -> Result<()> {
    let again = connection.prepare_cached(END_KEEPING)?.execute([feed.0])?;
    if again > 0 {
        connection.prepare_cached(COUNT)?.execute((feed.0, -usize_to_i64(again)))?;
    }
    Ok(())
}
