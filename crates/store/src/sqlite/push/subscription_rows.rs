//! The row of one subscription, written. What is in it was decided elsewhere.

use domain::{
    SubscriptionId,
    push::{Mode, Subscription},
};
use jiff::Timestamp;
use rusqlite::{Connection, Result, params};

use crate::sqlite::shared::errors::unfit;
use crate::values::{optional, secrets, text, topic_hash, u64_to_i64};

const INSERT: &str = include_str!("sql/subscription_rows_insert.sql");

const UPDATE: &str = include_str!("sql/subscription_rows_update.sql");

const UPDATE_PUSHED: &str = include_str!("sql/subscription_rows_update_pushed.sql");

/// Keeps a new one. Its id is the database's.
pub(crate) fn insert(connection: &Connection, new: &Subscription, now: i64) -> Result<()> {
    let topic = text(&new.topic_url);
    let row = params![
        new.feed_id.map(|feed| feed.0),
        text(&new.hub_url),
        &topic,
        topic_hash(&topic),
        text(&new.token),
        text(&new.base_url),
        new.state.name(),
        new.is_current,
        secrets(&new.secrets).map_err(unfit)?,
        new.next_step_at.map(Timestamp::as_millisecond),
        now,
    ];
    connection.prepare_cached(INSERT)?.execute(row).map(drop)
}

pub(crate) fn update(connection: &Connection, changed: &Subscription) -> Result<()> {
    let row = params![
        changed.id.0,
        text(&changed.base_url),
        changed.state.name(),
        changed.is_current,
        changed.lease_secs,
        changed.expires_at.map(Timestamp::as_millisecond),
        changed.activated_at.map(Timestamp::as_millisecond),
        changed.verified_at.map(Timestamp::as_millisecond),
        changed.asked.map(Mode::name),
        changed.verify_by.map(Timestamp::as_millisecond),
        changed.error_count,
        optional(changed.last_error.as_ref()),
        changed.last_push_at.map(Timestamp::as_millisecond),
        u64_to_i64(changed.push_count),
        u64_to_i64(changed.miss_count),
        changed.misses_in_row,
        secrets(&changed.secrets).map_err(unfit)?,
        changed.next_step_at.map(Timestamp::as_millisecond),
        changed.retry_at.map(Timestamp::as_millisecond),
    ];
    connection.prepare_cached(UPDATE)?.execute(row).map(drop)
}

/// The same after a push, which changes little: the secrets only if the hub has taken up another.
pub(crate) fn update_pushed(connection: &Connection, before: &Subscription, after: &Subscription) -> Result<()> {
    let secrets = (before.secrets != after.secrets).then(|| secrets(&after.secrets)).transpose().map_err(unfit)?;
    let last_push_at = after.last_push_at.map(Timestamp::as_millisecond);
    let row = (after.id.0, last_push_at, u64_to_i64(after.push_count), after.misses_in_row, secrets);
    connection.prepare_cached(UPDATE_PUSHED)?.execute(row).map(drop)
}

pub(crate) fn delete(connection: &Connection, id: SubscriptionId) -> Result<()> {
    connection.prepare_cached("DELETE FROM subscriptions WHERE id = ?")?.execute([id.0]).map(drop)
}
