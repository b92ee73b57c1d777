//! The rows of feeds, written: what a document says of it, and what its subscriptions mean for it.

use std::time::Duration;

use domain::{FeedId, feed_state::FeedStateChange, ingest::Document};
use jiff::Timestamp;
use rusqlite::{Connection, Result, params};

use crate::target::Target;
use crate::values::{millis, optional};

const STATE: &str = include_str!("sql/feed_rows_state.sql");

const COUNT: &str = include_str!("sql/feed_rows_count.sql");

const PUSHED: &str = include_str!("sql/feed_rows_pushed.sql");

pub(crate) const POLL_SOON: &str = include_str!("sql/feed_rows_poll_soon.sql");

/// Writes what a document says of its feed, and ends the lease.
pub(crate) fn write_state(
    connection: &Connection,
    target: Target,
    change: FeedStateChange,
    document: &Document,
    new: u32,
) -> Result<()> {
    let standing = change.standing;
    let row = params![
        target.feed_id,
        optional(document.title.as_ref()),
        optional(document.site_url.as_ref()),
        optional(document.validators.etag.as_ref()),
        optional(document.validators.last_modified.as_ref()),
        document.validators.body_hash.map(|hash| hash.0),
        target.now,
        new,
        millis(change.check_in),
        millis(change.audit_in),
        change.adaptive_secs,
        document.hints.ttl_mins,
        document.hints.skips.hours,
        document.hints.skips.days,
        change.due_by.map(Timestamp::as_millisecond),
        standing.failure_count,
        standing.is_failing,
        standing.is_gone,
        optional(document.icon_url.as_ref()),
        optional(document.logo_url.as_ref()),
    ];
    connection.prepare_cached(STATE)?.execute(row).map(drop)
}

/// Counts entries that were pushed.
pub(crate) fn add_entries(connection: &Connection, feed_id: i64, new: u32) -> Result<()> {
    connection.prepare_cached(COUNT)?.execute((feed_id, new)).map(drop)
}

/// Whether a hub is trusted to push it.
pub(crate) fn set_pushed(connection: &Connection, feed: FeedId, is_pushed: bool) -> Result<()> {
    connection.prepare_cached(PUSHED)?.execute((feed.0, is_pushed)).map(drop)
}

/// Makes a feed due after this delay, unless it is due sooner.
pub(crate) fn poll_soon(connection: &Connection, feed: FeedId, delay: Duration, now: i64) -> Result<()> {
    connection.prepare_cached(POLL_SOON)?.execute((feed.0, now, millis(delay))).map(drop)
}
