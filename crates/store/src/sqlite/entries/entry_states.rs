//! What accounts have of entries, written together with what happens to these. However many follow a feed, each is one
//! statement.
//!
//! Differs from the other store: there one statement writes entries and what followers have of them (`entry_rows`).

use rusqlite::{Connection, Result};

pub(crate) const FAN_OUT: &str = include_str!("sql/entry_states_fan_out.sql");

const COUNT_NEW: &str = "UPDATE OR FAIL follows SET unread_count = unread_count + ?2 WHERE feed_id = ?1";

pub(crate) const TOUCH: &str = include_str!("sql/entry_states_touch.sql");

pub(crate) const ADD_UNREAD: &str =
    "UPDATE follows SET unread_count = unread_count + ?3 WHERE feed_id = ?1 AND account_id = ?2";

pub(crate) const ADD_STARRED: &str = "UPDATE accounts SET starred_count = starred_count + ?2 WHERE id = ?1";

/// Hands so many new entries of a feed, from the first id to the last, to all who follow it.
pub(crate) fn fan_out(connection: &Connection, feed: i64, first: i64, last: i64, new: u32) -> Result<()> {
    connection.prepare_cached(FAN_OUT)?.execute((feed, first, last))?;
    connection.prepare_cached(COUNT_NEW)?.execute((feed, new)).map(drop)
}

/// An entry has other content.
pub(crate) fn touch(connection: &Connection, entry: i64, now: i64) -> Result<()> {
    connection.prepare_cached(TOUCH)?.execute((entry, now)).map(drop)
}

/// Changes how many entries of a feed an account has not read.
pub(crate) fn add_unread(connection: &Connection, feed: i64, account: i64, difference: i64) -> Result<()> {
    connection.prepare_cached(ADD_UNREAD)?.execute((feed, account, difference)).map(drop)
}

/// Changes how many entries an account has starred.
pub(crate) fn add_starred(connection: &Connection, account: i64, difference: i64) -> Result<()> {
    connection.prepare_cached(ADD_STARRED)?.execute((account, difference)).map(drop)
}
