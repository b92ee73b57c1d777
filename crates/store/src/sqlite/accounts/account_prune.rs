//! What nobody comes in with any more goes, and a piece of what removed accounts had.
//!
//! Of a removed account the follows go first, so that nothing is handed to it any more; then what it had of entries, its
//! folders, and last its own row. A feed that it followed alone goes entry by entry before that, and what is gone of it is
//! remembered: no poll brings it back.

use std::time::Duration;

use domain::{AccountId, FeedId, account::REMOVED_ACCOUNT_KEPT};
use rusqlite::{OptionalExtension, Result};

use crate::sqlite::{entries::prune, feeds::follows, figures, outbox::webhooks, shared::writer::WriteTx};
use crate::values::{count, millis, u64_to_i64, usize_to_i64};

pub(crate) const SESSIONS: &str = include_str!("sql/account_prune_sessions.sql");

pub(crate) const TOKENS: &str = include_str!("sql/account_prune_tokens.sql");

pub(crate) const REMOVED: &str = include_str!("sql/account_prune_removed.sql");

pub(crate) const FOLLOWS: &str = include_str!("sql/account_prune_follows.sql");

pub(crate) const STATES: &str = include_str!("sql/account_prune_states.sql");

/// Differs from the other store, where one statement goes through what an account follows alone.
const ENTRIES: &str = "SELECT id FROM entries WHERE feed_id = ? LIMIT ?";

/// Differs from the other store, as above.
const STATE: &str = "DELETE FROM entry_states WHERE entry_id = ? AND account_id = ?";

/// Whoever was about to do something for it has done so by then.
const REMOVE: &str = "DELETE FROM accounts WHERE id = ?1 AND deleted_at <= ?2";

pub(crate) fn prune(changes: &mut WriteTx<'_>, session_lifetime: Duration, limit: u32) -> Result<u64> {
    let (unused_since, limit) = (changes.now() - millis(session_lifetime), u64::from(limit));
    let mut removed = 0;
    for old in [SESSIONS, TOKENS] {
        let row = (unused_since, u64_to_i64(limit.saturating_sub(removed)));
        removed += count(usize_to_i64(changes.connection.prepare_cached(old)?.execute(row)?));
    }
    let mut after = 0;
    while removed < limit
        && let Some(account) = next_removed(changes, after)?
    {
        removed += empty(changes, account, limit - removed)?;
        after = account.0;
    }
    Ok(removed)
}

fn next_removed(changes: &mut WriteTx<'_>, after: i64) -> Result<Option<AccountId>> {
    changes.connection.prepare_cached(REMOVED)?.query_row([after], |row| row.get(0).map(AccountId)).optional()
}

/// Removes a piece of what an account had, of about so many rows.
fn empty(changes: &mut WriteTx<'_>, account: AccountId, limit: u64) -> Result<u64> {
    let mut removed = 0;
    while removed < limit
        && let Some((feed, entries)) = next_follow(changes, account)?
    {
        if !follows::is_alone(changes.connection, account, feed)? {
            follows::drop_row(changes, account, feed)?;
        } else if entries > limit - removed {
            return Ok(removed + shrink(changes, account, feed, limit - removed)?);
        } else {
            follows::remove_feed(changes, feed)?;
            removed += entries;
        }
        removed += 1;
    }
    if removed < limit {
        removed += forget_states(changes, account, limit - removed)?;
    }
    if removed < limit {
        removed += figures::forget(changes.connection, account, limit - removed)?;
    }
    if removed < limit {
        removed += finish(changes, account)?;
    }
    Ok(removed)
}

/// A feed that it follows, and how many entries that has.
fn next_follow(changes: &mut WriteTx<'_>, account: AccountId) -> Result<Option<(FeedId, u64)>> {
    let mut statement = changes.connection.prepare_cached(FOLLOWS)?;
    statement.query_row([account.0], |row| Ok((FeedId(row.get(0)?), count(row.get(1)?)))).optional()
}

/// Removes so many entries of a feed that nobody else follows.
fn shrink(changes: &mut WriteTx<'_>, account: AccountId, feed: FeedId, limit: u64) -> Result<u64> {
    let entries = forget(changes, account, ENTRIES, feed.0, limit)?;
    let forgotten = count(usize_to_i64(entries.len()));
    prune::remove_all_entries(changes, entries)?;
    Ok(forgotten)
}

fn forget_states(changes: &mut WriteTx<'_>, account: AccountId, limit: u64) -> Result<u64> {
    let entries = forget(changes, account, STATES, account.0, limit)?;
    let forgotten = count(usize_to_i64(entries.len()));
    prune::remove_entries(changes, entries)?;
    Ok(forgotten)
}

/// Forgets what an account had of so many entries; returns which.
fn forget(changes: &mut WriteTx<'_>, account: AccountId, entries_of: &str, id: i64, limit: u64) -> Result<Vec<i64>> {
    let connection = changes.connection;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut states = connection.prepare_cached(entries_of)?;
    let entries: Vec<i64> = states.query_map((id, limit), |row| row.get(0))?.collect::<Result<_>>()?;
    let mut forget = connection.prepare_cached(STATE)?;
    for entry in &entries {
        forget.execute((entry, account.0))?;
    }
    Ok(entries)
}

/// What is small goes at once, also what was made while the account was removed.
fn finish(changes: &mut WriteTx<'_>, account: AccountId) -> Result<u64> {
    let connection = changes.connection;
    webhooks::delete_all(changes, account)?;
    let mut removed = 0;
    for table in ["sessions", "tokens", "folders"] {
        removed +=
            connection.prepare_cached(&format!("DELETE FROM {table} WHERE account_id = ?"))?.execute([account.0])?;
    }
    removed += connection.prepare_cached(REMOVE)?.execute((account.0, changes.now() - millis(REMOVED_ACCOUNT_KEPT)))?;
    Ok(count(usize_to_i64(removed)))
}
