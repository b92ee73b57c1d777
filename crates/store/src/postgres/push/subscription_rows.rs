//! The rows of subscriptions, written. What is in it was decided elsewhere.

use std::collections::HashSet;

use deadpool_postgres::Transaction;
use domain::{
    SubscriptionId,
    push::{Mode, Secrets, Subscription},
};
use jiff::Timestamp;
use tokio_postgres::{Error, types::ToSql};

use crate::postgres::{
    execute,
    shared::values::{Column, as_param, column, optional, secrets, text, topic_hash, u64_to_i64},
};

const INSERT: &str = include_str!("sql/subscription_rows_insert.sql");

const UPDATE: &str = include_str!("sql/subscription_rows_update.sql");

const END_LEASES: &str = include_str!("sql/subscription_rows_end_leases.sql");

/// Keeps a new one. Its id is the database's.
pub(crate) async fn insert(transaction: &Transaction<'_>, new: &Subscription, now: i64) -> Result<(), Error> {
    let topic = text(&new.topic_url);
    execute(
        transaction,
        INSERT,
        &[
            &new.feed_id.map(|feed| feed.0),
            &text(&new.hub_url),
            &topic,
            &topic_hash(&topic),
            &text(&new.token),
            &text(&new.base_url),
            &new.state.name(),
            &new.is_current,
            &written(&new.secrets),
            &millis_of(new.next_step_at),
            &now,
        ],
    )
    .await
    .map(drop)
}

/// Writes changed ones; the lease of whoever has claimed one of these ends with that, the others go on.
pub(crate) async fn update(
    transaction: &Transaction<'_>,
    changed: &[&Subscription],
    ends_lease: &HashSet<SubscriptionId>,
) -> Result<(), Error> {
    let columns: [Column<'_>; 20] = [
        column(changed, |changed| changed.id.0),
        column(changed, |changed| text(&changed.base_url)),
        column(changed, |changed| changed.state.name()),
        column(changed, |changed| changed.is_current),
        column(changed, |changed| changed.lease_secs.map(i64::from)),
        column(changed, |changed| millis_of(changed.expires_at)),
        column(changed, |changed| millis_of(changed.activated_at)),
        column(changed, |changed| millis_of(changed.verified_at)),
        column(changed, |changed| changed.asked.map(Mode::name)),
        column(changed, |changed| millis_of(changed.verify_by)),
        column(changed, |changed| i64::from(changed.error_count)),
        column(changed, |changed| optional(changed.last_error.as_ref())),
        column(changed, |changed| millis_of(changed.last_push_at)),
        column(changed, |changed| u64_to_i64(changed.push_count)),
        column(changed, |changed| u64_to_i64(changed.miss_count)),
        column(changed, |changed| i64::from(changed.misses_in_row)),
        column(changed, |changed| written(&changed.secrets)),
        column(changed, |changed| millis_of(changed.next_step_at)),
        column(changed, |changed| millis_of(changed.retry_at)),
        column(changed, |changed| ends_lease.contains(&changed.id)),
    ];
    let params: Vec<&(dyn ToSql + Sync)> = columns.iter().map(as_param).collect();
    execute(transaction, UPDATE, &params).await.map(drop)
}

pub(crate) async fn end_leases(transaction: &Transaction<'_>, ids: &[i64]) -> Result<(), Error> {
    execute(transaction, END_LEASES, &[&ids]).await.map(drop)
}

pub(crate) async fn delete(transaction: &Transaction<'_>, id: SubscriptionId) -> Result<(), Error> {
    execute(transaction, "DELETE FROM subscriptions WHERE id = $1", &[&id.0]).await.map(drop)
}

fn millis_of(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_millisecond)
}

fn written(list: &Secrets) -> String {
    secrets(list).expect("a list of texts can always be written down")
}
