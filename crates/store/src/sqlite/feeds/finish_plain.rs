//! The rows of feeds whose poll brought no document, written. What is in them was decided by
//! [`Standing::after`](domain::feed_state::Standing::after); whoever is here has checked the lease.

use domain::{feed_state::FeedStateChange, ingest::Validators};
use jiff::Timestamp;
use rusqlite::{Connection, Result};

use crate::target::Target;
use crate::values::{millis, optional, text};

const UNCHANGED: &str = include_str!("sql/finish_plain_unchanged.sql");

const FAILED: &str = include_str!("sql/finish_plain_failed.sql");

pub(crate) fn write_unchanged(
    connection: &Connection,
    target: Target,
    change: FeedStateChange,
    validators: &Validators,
) -> Result<()> {
    let standing = change.standing;
    let row = (
        target.feed_id,
        target.now,
        millis(change.check_in),
        millis(change.audit_in),
        change.adaptive_secs,
        optional(validators.etag.as_ref()),
        optional(validators.last_modified.as_ref()),
        validators.body_hash.map(|hash| hash.0),
        change.due_by.map(Timestamp::as_millisecond),
        standing.failure_count,
        standing.is_failing,
        standing.is_gone,
    );
    connection.prepare_cached(UNCHANGED)?.execute(row).map(drop)
}

pub(crate) fn write_failure(
    connection: &Connection,
    target: Target,
    change: FeedStateChange,
    reason: &str,
) -> Result<()> {
    let standing = change.standing;
    let row = (
        target.feed_id,
        target.now,
        millis(change.check_in),
        change.adaptive_secs,
        text(reason),
        change.due_by.map(Timestamp::as_millisecond),
        standing.failure_count,
        standing.is_failing,
        standing.is_gone,
    );
    connection.prepare_cached(FAILED)?.execute(row).map(drop)
}
