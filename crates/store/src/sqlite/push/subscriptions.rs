//! Subscriptions as they are found and read.

use domain::{
    FeedId, Lease, SubscriptionId,
    ports::Viewer,
    push::{PushTarget, Subscription},
};
use jiff::Timestamp;
use rusqlite::{Connection, Result, Row, Rows};

use crate::sqlite::shared::errors::unreadable;
use crate::values::{asked_of, count, known_states, secrets_of, state_of, text, time, to_u32, topic_hash};

/// All columns of a subscription, in the order of [`subscription_of`], and how many they are.
macro_rules! columns {
    () => {
        "id, feed_id, hub_url, topic_url, token, base_url, state, is_current, lease_secs, expires_at, activated_at,
       verified_at, asked, verify_by, error_count, last_error, last_push_at, push_count, miss_count, misses_in_row,
       secrets, next_step_at, retry_at"
    };
}
pub(crate) const COLUMNS: usize = 23;
const STATE: usize = 6;
pub(crate) use columns;

const ALL: &str = concat!("SELECT ", columns!(), "\nFROM subscriptions\nORDER BY feed_id NULLS LAST, id");

/// Of the feeds that an account follows.
pub(crate) const ALL_OF: &str = concat!(
    "SELECT ",
    columns!(),
    "
FROM subscriptions INDEXED BY subscriptions_of_feed
WHERE feed_id IN (SELECT feed_id FROM follows INDEXED BY follows_of_account WHERE account_id = ?)
ORDER BY feed_id, id"
);

pub(crate) const BY_ID: &str = concat!("SELECT ", columns!(), "\nFROM subscriptions\nWHERE id = ?");

/// A lease that ran out but that nobody else has taken is still good.
pub(crate) const HELD: &str = concat!(
    "SELECT ",
    columns!(),
    "
FROM subscriptions
WHERE id = ?
  AND lease_owner = ?
  AND lease_fence = ?"
);

pub(crate) const OF_FEED: &str =
    concat!("SELECT ", columns!(), "\nFROM subscriptions INDEXED BY subscriptions_of_feed\nWHERE feed_id = ?");

pub(crate) const CURRENT_OF: &str =
    concat!("SELECT ", columns!(), "\nFROM subscriptions\nWHERE feed_id = ?\n  AND is_current = 1");

pub(crate) const LIVING: &str = concat!(
    "SELECT ",
    columns!(),
    "
FROM subscriptions NOT INDEXED
WHERE id > ?
  AND ",
    known_states!(),
    "
  AND state <> 'unsubscribing'
ORDER BY id
LIMIT ?"
);

pub(crate) const BY_TOKEN: &str = concat!(
    "SELECT ",
    columns!(),
    ", (SELECT url FROM feeds WHERE feeds.id = subscriptions.feed_id)
FROM subscriptions
WHERE token = ?"
);

/// The hash finds them, the topic itself decides.
pub(crate) const BY_TOPIC: &str = concat!(
    "SELECT ",
    columns!(),
    ", (SELECT url FROM feeds WHERE feeds.id = subscriptions.feed_id)
FROM subscriptions INDEXED BY subscriptions_by_topic
WHERE topic_hash = ?
  AND topic_url = ?
ORDER BY id DESC
LIMIT ?"
);

pub(crate) fn all(connection: &Connection, viewer: Viewer) -> Result<Vec<Subscription>> {
    match viewer {
        Viewer::Server => known(connection.prepare_cached(ALL)?.query([])?, subscription_of),
        Viewer::Account(account) => known(connection.prepare_cached(ALL_OF)?.query([account.0])?, subscription_of),
    }
}

pub(crate) fn one(connection: &Connection, id: SubscriptionId) -> Result<Option<Subscription>> {
    Ok(known(connection.prepare_cached(BY_ID)?.query([id.0])?, subscription_of)?.pop())
}

/// If this lease is still the row's.
pub(crate) fn held(connection: &Connection, id: SubscriptionId, lease: &Lease) -> Result<Option<Subscription>> {
    let guard = (id.0, &lease.owner, lease.fence);
    Ok(known(connection.prepare_cached(HELD)?.query(guard)?, subscription_of)?.pop())
}

pub(crate) fn current_of(connection: &Connection, feed_id: i64) -> Result<Option<Subscription>> {
    Ok(known(connection.prepare_cached(CURRENT_OF)?.query([feed_id])?, subscription_of)?.pop())
}

/// Those of a feed; none for each whose state only a later version knows.
pub(crate) fn of_feed(connection: &Connection, feed_id: i64) -> Result<Vec<Option<Subscription>>> {
    let read = |row: &Row<'_>| is_known(row)?.then(|| subscription_of(row)).transpose();
    connection.prepare_cached(OF_FEED)?.query_map([feed_id], read)?.collect()
}

/// Those that are wanted, after this one, at most so many.
pub(crate) fn living(connection: &Connection, after: i64, limit: u32) -> Result<Vec<Subscription>> {
    connection.prepare_cached(LIVING)?.query_map((after, limit), subscription_of)?.collect()
}

pub(crate) fn by_token(connection: &Connection, token: &str) -> Result<Option<PushTarget>> {
    Ok(known(connection.prepare_cached(BY_TOKEN)?.query([text(token)])?, target_of)?.pop())
}

pub(crate) fn by_topic(connection: &Connection, topic: &str, limit: u32) -> Result<Vec<PushTarget>> {
    let topic = text(topic);
    known(connection.prepare_cached(BY_TOPIC)?.query((topic_hash(&topic), &topic, limit))?, target_of)
}

/// Those whose state this version knows: another may have left more.
fn known<T>(mut rows: Rows<'_>, read: fn(&Row<'_>) -> Result<T>) -> Result<Vec<T>> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if is_known(row)? {
            found.push(read(row)?);
        }
    }
    Ok(found)
}

fn is_known(row: &Row<'_>) -> Result<bool> {
    Ok(state_of(row.get_ref(STATE)?.as_str()?).is_ok())
}

pub(crate) fn subscription_of(row: &Row<'_>) -> Result<Subscription> {
    let at = |place: usize| -> Result<Option<Timestamp>> { Ok(row.get::<_, Option<i64>>(place)?.map(time)) };
    Ok(Subscription {
        id: SubscriptionId(row.get(0)?),
        feed_id: row.get::<_, Option<i64>>(1)?.map(FeedId),
        hub_url: row.get(2)?,
        topic_url: row.get(3)?,
        token: row.get(4)?,
        base_url: row.get(5)?,
        state: state_of(row.get_ref(STATE)?.as_str()?).map_err(|error| unreadable(STATE, error))?,
        is_current: row.get(7)?,
        lease_secs: row.get::<_, Option<i64>>(8)?.map(to_u32),
        expires_at: at(9)?,
        activated_at: at(10)?,
        verified_at: at(11)?,
        asked: asked_of(row.get_ref(12)?.as_str_or_null()?).map_err(|error| unreadable(12, error))?,
        verify_by: at(13)?,
        error_count: to_u32(row.get(14)?),
        last_error: row.get(15)?,
        last_push_at: at(16)?,
        push_count: count(row.get(17)?),
        miss_count: count(row.get(18)?),
        misses_in_row: to_u32(row.get(19)?),
        secrets: secrets_of(row.get_ref(20)?.as_str()?).map_err(|error| unreadable(20, error))?,
        next_step_at: at(21)?,
        retry_at: at(22)?,
    })
}

fn target_of(row: &Row<'_>) -> Result<PushTarget> {
    Ok(PushTarget { subscription: subscription_of(row)?, feed_url: row.get(COLUMNS)? })
}
