//! Records events in the transaction that causes them: each event once, and a delivery for each webhook that wants
//! it.

use std::{collections::HashMap, slice};

use deadpool_postgres::{GenericClient, Transaction};
use domain::{
    AccountId, FeedId, FolderId,
    delivery::{DomainEvent, Follow, Follows, Outgoing, PayloadFeed, Webhook, fan_out},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{Params, both, outbox::webhooks, query, shared::values::usize_to_i64};
use crate::target::Target;

/// Events in one statement: more would only cost memory.
const EVENTS_A_STATEMENT: usize = 500;

const INSERT: &str = include_str!("sql/events_insert.sql");

const FEEDS: &str = include_str!("sql/events_feeds.sql");

const FOLLOWS: &str = include_str!("sql/events_follows.sql");

const FOLLOWS_BY_SUBSCRIPTION: &str = include_str!("sql/events_follows_by_subscription.sql");

/// Who may want the events of some feeds: the enabled webhooks of those who follow them.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) webhooks: Vec<Webhook>,
    pub(crate) follows: Follows,
}

impl Listeners {
    pub(crate) async fn of_feeds(client: &impl GenericClient, feeds: &[i64]) -> Result<Self, Error> {
        Self::read(client, webhooks::OF_FEEDS, FOLLOWS, feeds).await
    }

    /// Of the feeds of these subscriptions.
    pub(crate) async fn of_subscriptions(client: &impl GenericClient, ids: &[i64]) -> Result<Self, Error> {
        Self::read(client, webhooks::OF_SUBSCRIPTIONS, FOLLOWS_BY_SUBSCRIPTION, ids).await
    }

    async fn read(client: &impl GenericClient, webhooks: &str, follows: &str, ids: &[i64]) -> Result<Self, Error> {
        let params: Params<'_> = &[&ids];
        let (webhooks, rows) = both(webhooks::enabled(client, webhooks, ids), query(client, follows, params)).await?;
        let follow = |row: &Row| {
            let folder_id = row.get::<_, Option<i64>>(2).map(FolderId);
            ((FeedId(row.get(0)), AccountId(row.get(1))), Follow { folder_id })
        };
        Ok(Self { webhooks, follows: rows.iter().map(follow).collect() })
    }

    /// Records the events of one feed. True if a delivery was queued.
    pub(crate) async fn record_for_feed(
        &self,
        transaction: &Transaction<'_>,
        feed: PayloadFeed,
        events: &[DomainEvent],
        now: i64,
    ) -> Result<bool, Error> {
        self.record(transaction, &HashMap::from([(feed.id, feed)]), events, now).await
    }

    /// Records the events of these feeds, for the webhooks that want them. True if a delivery was queued.
    pub(crate) async fn record(
        &self,
        transaction: &Transaction<'_>,
        feeds: &HashMap<FeedId, PayloadFeed>,
        events: &[DomainEvent],
        now: i64,
    ) -> Result<bool, Error> {
        let mut has_queued = false;
        for events in events.chunks(EVENTS_A_STATEMENT) {
            let outgoing = fan_out(&self.webhooks, &self.follows, feeds, events);
            if !outgoing.is_empty() {
                insert(transaction, &outgoing, now).await?;
                has_queued = true;
            }
        }
        Ok(has_queued)
    }
}

/// A feed as payloads show it.
pub(crate) fn payload_feed(target: Target, url: String, title: Option<String>) -> PayloadFeed {
    PayloadFeed { id: FeedId(target.feed_id), url, title, trace: target.trace }
}

/// Records events, where the caller knows neither listeners nor feeds. True if a delivery was queued.
pub(crate) async fn record(transaction: &Transaction<'_>, events: &[DomainEvent], now: i64) -> Result<bool, Error> {
    if events.is_empty() {
        return Ok(false);
    }
    let ids: Vec<i64> = events.iter().filter_map(|event| event.feed_id().map(|feed| feed.0)).collect();
    let mut listeners = Listeners::of_feeds(transaction, &ids).await?;
    let accounts: Vec<i64> = events.iter().filter_map(|event| event.account_id().map(|account| account.0)).collect();
    if !accounts.is_empty() {
        listeners.webhooks.extend(webhooks::enabled(transaction, webhooks::OF_ACCOUNTS, &accounts).await?);
        listeners.webhooks.sort_unstable_by_key(|webhook| webhook.id);
        listeners.webhooks.dedup_by_key(|webhook| webhook.id);
    }
    if listeners.webhooks.is_empty() {
        return Ok(false);
    }
    let feeds = feeds_of(transaction, &ids).await?;
    listeners.record(transaction, &feeds, events, now).await
}

/// Queues one event for one webhook, which is known to want it; the delivery's id.
pub(crate) async fn queue_one(
    transaction: &Transaction<'_>,
    webhook: &Webhook,
    event: &DomainEvent,
    now: i64,
) -> Result<Option<i64>, Error> {
    let outgoing = fan_out(slice::from_ref(webhook), &Follows::new(), &HashMap::new(), slice::from_ref(event));
    Ok(insert(transaction, &outgoing, now).await?.first().map(|row| row.get(0)))
}

async fn insert(transaction: &Transaction<'_>, events: &[Outgoing], now: i64) -> Result<Vec<Row>, Error> {
    let kinds: Vec<&str> = events.iter().map(|event| event.scope.kind.name()).collect();
    let feeds: Vec<Option<i64>> = events.iter().map(|event| event.scope.feed_id.map(|feed| feed.0)).collect();
    let accounts: Vec<Option<i64>> = events.iter().map(|event| event.scope.account_id.map(|id| id.0)).collect();
    let about: Vec<Option<i64>> = events.iter().map(|event| event.scope.webhook_id.map(|about| about.0)).collect();
    let backlog: Vec<bool> = events.iter().map(|event| event.scope.is_backlog).collect();
    let entries: Vec<Option<i64>> = events.iter().map(|event| event.entry_id.map(|entry| entry.0)).collect();
    let shown: Vec<Option<&str>> = events.iter().map(|event| event.feed.as_deref()).collect();
    let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
    let queued =
        events.iter().zip(1..).flat_map(|(event, place)| event.to.iter().map(move |to| (usize_to_i64(place), to.0)));
    let (places, webhooks): (Vec<i64>, Vec<i64>) = queued.unzip();
    let values: Params<'_> =
        &[&now, &kinds, &feeds, &accounts, &about, &entries, &backlog, &shown, &data, &places, &webhooks];
    query(transaction, INSERT, values).await
}

async fn feeds_of(client: &impl GenericClient, ids: &[i64]) -> Result<HashMap<FeedId, PayloadFeed>, Error> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = query(client, FEEDS, &[&ids]).await?;
    Ok(rows.iter().map(feed_of).map(|feed| (feed.id, feed)).collect())
}

fn feed_of(row: &Row) -> PayloadFeed {
    PayloadFeed { id: FeedId(row.get(0)), url: row.get(1), title: row.get(2), trace: None }
}
