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

/// Writes what has changed. This database writes an index of every column that is set anew, also if it is what it was: so
/// those that indexes know are set only if they are not, and a renewal writes half as many pages.
pub(crate) fn update(connection: &Connection, before: &Subscription, after: &Subscription) -> Result<()> {
    let row = params![
        after.id.0,
        after.state.name(),
        after.is_current,
        after.expires_at.map(Timestamp::as_millisecond),
        after.next_step_at.map(Timestamp::as_millisecond),
        text(&after.base_url),
        after.lease_secs,
        after.activated_at.map(Timestamp::as_millisecond),
        after.verified_at.map(Timestamp::as_millisecond),
        after.asked.map(Mode::name),
        after.verify_by.map(Timestamp::as_millisecond),
        after.error_count,
        optional(after.last_error.as_ref()),
        after.last_push_at.map(Timestamp::as_millisecond),
        u64_to_i64(after.push_count),
        u64_to_i64(after.miss_count),
        after.misses_in_row,
        secrets(&after.secrets).map_err(unfit)?,
        after.retry_at.map(Timestamp::as_millisecond),
    ];
    let is_known_to_an_index = [
        (before.state != after.state, ", state = ?2"),
        (before.is_current != after.is_current, ", is_current = ?3"),
        (before.expires_at != after.expires_at, ", expires_at = ?4"),
        (before.next_step_at != after.next_step_at, ", next_step_at = ?5"),
    ];
    let mut sql = UPDATE.to_owned();
    sql.extend(is_known_to_an_index.iter().filter(|(has_changed, _)| *has_changed).map(|(_, set)| *set));
    sql.push_str(" WHERE id = ?1");
    connection.prepare_cached(&sql)?.execute(row).map(drop)
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
