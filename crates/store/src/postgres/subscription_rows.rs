//! The row of one subscription, written. What is in it was decided elsewhere.

use deadpool_postgres::Transaction;
use domain::{
    SubscriptionId,
    push::{Mode, Secrets, Subscription},
};
use jiff::Timestamp;
use tokio_postgres::Error;

use super::{
    execute,
    values::{number, optional, secrets, text, topic_hash},
};

const INSERT: &str = "
INSERT INTO subscriptions (feed_id, hub_url, topic_url, topic_hash, token, base_url, state, is_current, secrets,
                           next_step_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

/// All that may change, but for the lease, which may only end with it.
const UPDATE: &str = "
UPDATE subscriptions
SET base_url = $2,
    state = $3,
    is_current = $4,
    lease_secs = $5,
    expires_at = $6,
    activated_at = $7,
    verified_at = $8,
    asked = $9,
    verify_by = $10,
    error_count = $11,
    last_error = $12,
    last_push_at = $13,
    push_count = $14,
    miss_count = $15,
    misses_in_row = $16,
    secrets = $17,
    next_step_at = $18,
    retry_at = $19,
    lease_owner = CASE WHEN $20 THEN NULL ELSE lease_owner END,
    lease_until = CASE WHEN $20 THEN 0 ELSE lease_until END
WHERE id = $1";

const END_LEASE: &str = "
UPDATE subscriptions
SET lease_owner = NULL,
    lease_until = 0
WHERE id = $1";

/// Keeps a new one. Its id is the database's.
pub(super) async fn insert(transaction: &Transaction<'_>, new: &Subscription, now: i64) -> Result<(), Error> {
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

/// Writes a changed one; the lease of whoever has claimed it ends with that, or goes on.
pub(super) async fn update(
    transaction: &Transaction<'_>,
    changed: &Subscription,
    ends_lease: bool,
) -> Result<(), Error> {
    execute(
        transaction,
        UPDATE,
        &[
            &changed.id.0,
            &text(&changed.base_url),
            &changed.state.name(),
            &changed.is_current,
            &changed.lease_secs.map(i64::from),
            &millis_of(changed.expires_at),
            &millis_of(changed.activated_at),
            &millis_of(changed.verified_at),
            &changed.asked.map(Mode::name),
            &millis_of(changed.verify_by),
            &i64::from(changed.error_count),
            &optional(changed.last_error.as_ref()),
            &millis_of(changed.last_push_at),
            &number(changed.push_count),
            &number(changed.miss_count),
            &i64::from(changed.misses_in_row),
            &written(&changed.secrets),
            &millis_of(changed.next_step_at),
            &millis_of(changed.retry_at),
            &ends_lease,
        ],
    )
    .await
    .map(drop)
}

pub(super) async fn end_lease(transaction: &Transaction<'_>, id: SubscriptionId) -> Result<(), Error> {
    execute(transaction, END_LEASE, &[&id.0]).await.map(drop)
}

pub(super) async fn delete(transaction: &Transaction<'_>, id: SubscriptionId) -> Result<(), Error> {
    execute(transaction, "DELETE FROM subscriptions WHERE id = $1", &[&id.0]).await.map(drop)
}

/// A subscription as it will be read again: times in milliseconds, texts without NUL.
pub(super) fn as_kept(subscription: Subscription) -> Subscription {
    let kept = |time: Option<Timestamp>| millis_of(time).map(super::values::time);
    Subscription {
        base_url: text(&subscription.base_url).into_owned(),
        expires_at: kept(subscription.expires_at),
        activated_at: kept(subscription.activated_at),
        verified_at: kept(subscription.verified_at),
        verify_by: kept(subscription.verify_by),
        last_error: optional(subscription.last_error.as_ref()).map(std::borrow::Cow::into_owned),
        last_push_at: kept(subscription.last_push_at),
        next_step_at: kept(subscription.next_step_at),
        retry_at: kept(subscription.retry_at),
        ..subscription
    }
}

fn millis_of(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_millisecond)
}

fn written(list: &Secrets) -> String {
    secrets(list).expect("a list of texts can always be written down")
}
