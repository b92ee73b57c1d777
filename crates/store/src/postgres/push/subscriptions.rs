//! Subscriptions as they are read.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{Client, Transaction};
use domain::{
    FeedId, SubscriptionId,
    ports::{StoreResult, Viewer},
    push::{Mode, PushTarget, Secrets, Subscription, SubscriptionState, SubscriptionView},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    query, query_opt,
    shared::{
        errors::store_error,
        values::{Parsed, count, text, time, to_u32, topic_hash},
    },
};

/// Of `subscriptions`, in the order of [`subscription_of`].
macro_rules! columns {
    () => {
        "subscriptions.id, subscriptions.feed_id, subscriptions.hub_url, subscriptions.topic_url, subscriptions.token,
       subscriptions.base_url, subscriptions.state, subscriptions.is_current, subscriptions.lease_secs,
       subscriptions.expires_at, subscriptions.activated_at, subscriptions.verified_at, subscriptions.asked,
       subscriptions.verify_by, subscriptions.error_count, subscriptions.last_error, subscriptions.last_push_at,
       subscriptions.push_count, subscriptions.miss_count, subscriptions.misses_in_row, subscriptions.secrets,
       subscriptions.next_step_at, subscriptions.retry_at"
    };
}
pub(crate) use columns;

/// How many those are: what else a row has follows them.
pub(crate) const COLUMNS: usize = 23;

/// The places of these.
const TOKEN: usize = 4;
const STATE: usize = 6;
pub(crate) const NEXT_STEP_AT: usize = 21;

/// What the API shows, in the order of [`view_of`]; in a join all of them are null for a feed that has none.
pub(crate) const VIEW: &str = "
subscriptions.hub_url, subscriptions.topic_url, subscriptions.state, subscriptions.lease_secs, subscriptions.expires_at,
subscriptions.error_count, subscriptions.last_error, subscriptions.last_push_at, subscriptions.push_count,
subscriptions.miss_count";

const ALL: &str = concat!("SELECT ", columns!(), "\nFROM subscriptions\nORDER BY feed_id NULLS LAST, id");

const FOLLOWED: &str = concat!(
    "SELECT ",
    columns!(),
    "
FROM subscriptions
WHERE feed_id IN (SELECT feed_id FROM follows WHERE account_id = $1)
ORDER BY feed_id, id"
);

const ONE: &str = concat!("SELECT ", columns!(), "\nFROM subscriptions\nWHERE id = $1");

const CURRENT: &str = concat!("SELECT ", columns!(), "\nFROM subscriptions\nWHERE feed_id = $1\n  AND is_current");

const OF_FEED: &str = concat!("SELECT ", columns!(), "\nFROM subscriptions\nWHERE feed_id = $1\nORDER BY id");

/// Several rows are always locked in the order of their ids.
pub(crate) const LOCK_OF_FEEDS: &str = concat!(
    "
SELECT ",
    columns!(),
    "
FROM subscriptions
WHERE feed_id = ANY($1)
ORDER BY id
FOR NO KEY UPDATE"
);

const BY_TOKENS: &str = concat!(
    "
SELECT ",
    columns!(),
    ", feeds.url
FROM subscriptions
LEFT JOIN feeds ON feeds.id = subscriptions.feed_id
WHERE subscriptions.token = ANY($1)"
);

/// Tokens that are asked for at least, if need be the same several times. A plan that is kept is made for so many, and the
/// database plans anew at every call where that seems cheaper: which takes ten times as long as the look itself.
const PLANNED_TOKENS_MIN: usize = 10;

const BY_TOPIC: &str = concat!(
    "
SELECT ",
    columns!(),
    ", feeds.url
FROM subscriptions
LEFT JOIN feeds ON feeds.id = subscriptions.feed_id
WHERE subscriptions.topic_hash = $1
  AND subscriptions.topic_url = $2
ORDER BY subscriptions.id DESC
LIMIT $3"
);

pub(crate) async fn all(client: &Client, viewer: Viewer) -> Result<Vec<Subscription>, Error> {
    let rows = match viewer {
        Viewer::Account(account) => query(client, FOLLOWED, &[&account.0]).await?,
        Viewer::Server => query(client, ALL, &[]).await?,
    };
    rows.iter().filter(|row| is_known(row)).map(subscription_of).collect()
}

pub(crate) async fn one(client: &Client, id: SubscriptionId) -> Result<Option<Subscription>, Error> {
    query_opt(client, ONE, &[&id.0]).await?.as_ref().filter(|row| is_known(row)).map(subscription_of).transpose()
}

pub(crate) async fn current_of(client: &Client, feed: FeedId) -> Result<Option<Subscription>, Error> {
    query_opt(client, CURRENT, &[&feed.0]).await?.as_ref().filter(|row| is_known(row)).map(subscription_of).transpose()
}

/// Subscriptions of some feeds.
#[derive(Debug, Default)]
pub(crate) struct OfFeeds {
    pub(crate) known: Vec<Subscription>,
    /// Feeds with one whose state only a later version knows.
    pub(crate) foreign: HashSet<FeedId>,
}

impl OfFeeds {
    fn read(rows: &[Row]) -> Result<Self, Error> {
        let mut found = Self::default();
        for row in rows {
            if is_known(row) {
                found.known.push(subscription_of(row)?);
            } else {
                found.foreign.extend(row.get::<_, Option<i64>>(1).map(FeedId));
            }
        }
        Ok(found)
    }
}

/// Those of a feed. Whoever holds the lock of the feed's row may rely on them: only their leases can change meanwhile.
pub(crate) async fn of_feed(transaction: &Transaction<'_>, feed_id: i64) -> Result<OfFeeds, Error> {
    OfFeeds::read(&query(transaction, OF_FEED, &[&feed_id]).await?)
}

/// Those of feeds whose rows are locked, locked themselves. To lock them again is nothing.
pub(crate) async fn lock_of_feeds(transaction: &Transaction<'_>, feeds: &[i64]) -> Result<OfFeeds, Error> {
    OfFeeds::read(&query(transaction, LOCK_OF_FEEDS, &[&feeds]).await?)
}

/// Those with these tokens, in the order given.
pub(crate) async fn by_tokens(
    client: &Client,
    tokens: &[String],
) -> Result<Vec<StoreResult<Option<PushTarget>>>, Error> {
    let tokens: Vec<_> = tokens.iter().map(|token| text(token)).collect();
    let asked_for: Vec<_> = tokens.iter().cycle().take(tokens.len().max(PLANNED_TOKENS_MIN)).collect();
    let rows = query(client, BY_TOKENS, &[&asked_for]).await?;
    let rows: HashMap<&str, &Row> = rows.iter().filter(|row| is_known(row)).map(|row| (row.get(TOKEN), row)).collect();
    let target = |row: &&Row| target_of(row).map_err(store_error);
    Ok(tokens.iter().map(|token| rows.get(token.as_ref()).map(target).transpose()).collect())
}

pub(crate) async fn by_topic(client: &Client, topic: &str, limit: u32) -> Result<Vec<PushTarget>, Error> {
    let topic = text(topic);
    let rows = query(client, BY_TOPIC, &[&topic_hash(&topic), &topic, &i64::from(limit)]).await?;
    rows.iter().filter(|row| is_known(row)).map(target_of).collect()
}

/// Whether its state is one that this version knows. A later one, on the same database, may know more: it sees to those.
pub(crate) fn is_known(row: &Row) -> bool {
    row.try_get::<_, Parsed<SubscriptionState>>(STATE).is_ok()
}

pub(crate) fn subscription_of(row: &Row) -> Result<Subscription, Error> {
    let time_at = |place: usize| row.get::<_, Option<i64>>(place).map(time);
    Ok(Subscription {
        id: SubscriptionId(row.get(0)),
        feed_id: row.get::<_, Option<i64>>(1).map(FeedId),
        hub_url: row.get(2),
        topic_url: row.get(3),
        token: row.get(4),
        base_url: row.get(5),
        state: row.try_get::<_, Parsed<SubscriptionState>>(STATE)?.0,
        is_current: row.get(7),
        lease_secs: row.get::<_, Option<i64>>(8).map(to_u32),
        expires_at: time_at(9),
        activated_at: time_at(10),
        verified_at: time_at(11),
        asked: row.try_get::<_, Option<Parsed<Mode>>>(12)?.map(|asked| asked.0),
        verify_by: time_at(13),
        error_count: to_u32(row.get(14)),
        last_error: row.get(15),
        last_push_at: time_at(16),
        push_count: count(row.get(17)),
        miss_count: count(row.get(18)),
        misses_in_row: to_u32(row.get(19)),
        secrets: row.try_get::<_, Parsed<Secrets>>(20)?.0,
        next_step_at: time_at(NEXT_STEP_AT),
        retry_at: time_at(22),
    })
}

fn target_of(row: &Row) -> Result<PushTarget, Error> {
    Ok(PushTarget { subscription: subscription_of(row)?, feed_url: row.get(COLUMNS) })
}

/// What the API shows of a feed's subscription, whose columns begin at this place; none if the feed has none.
pub(crate) fn view_of(row: &Row, feed: FeedId, at: usize) -> Option<SubscriptionView> {
    let hub_url = row.get::<_, Option<String>>(at)?;
    // One of a later version.
    let Parsed(state) = row.try_get::<_, Parsed<SubscriptionState>>(at + 2).ok()?;
    Some(SubscriptionView {
        feed_id: Some(feed),
        hub_url,
        topic_url: row.get(at + 1),
        state,
        is_active: state == SubscriptionState::Active,
        lease_seconds: row.get::<_, Option<i64>>(at + 3).map(to_u32),
        expires_at: row.get::<_, Option<i64>>(at + 4).map(time),
        error_count: to_u32(row.get(at + 5)),
        last_error: row.get(at + 6),
        last_push_at: row.get::<_, Option<i64>>(at + 7).map(time),
        push_count: count(row.get(at + 8)),
        miss_count: count(row.get(at + 9)),
    })
}
