//! What happened, written down for those who want to know, in the transaction of whoever made it happen: an event once,
//! and a delivery for each who is told.

use std::{collections::HashMap, slice};

use deadpool_postgres::{GenericClient, Transaction};
use domain::{
    FeedId, FolderId,
    delivery::{DomainEvent, Outgoing, PayloadFeed, Webhook, fan_out},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{outbox::webhooks, query, shared::values::usize_to_i64};
use crate::target::Target;

/// Events in one statement: more would only cost memory.
const EVENTS_A_STATEMENT: usize = 500;

const INSERT: &str = include_str!("sql/events_insert.sql");

const FEEDS: &str = include_str!("sql/events_feeds.sql");

/// Who may be told of what happens to one feed, and how they are shown it.
#[derive(Debug)]
pub(crate) struct Audience<'w> {
    pub(crate) webhooks: &'w [Webhook],
    pub(crate) feed: PayloadFeed,
}

impl Audience<'_> {
    /// Writes down what happened to the feed. True if somebody is told.
    pub(crate) async fn tell(
        self,
        transaction: &Transaction<'_>,
        news: &[DomainEvent],
        now: i64,
    ) -> Result<bool, Error> {
        let feeds = HashMap::from([(self.feed.id, self.feed)]);
        write(transaction, self.webhooks, &feeds, news, now).await
    }
}

/// A feed as payloads show it.
pub(crate) fn payload_feed(target: Target, url: String, title: Option<String>) -> PayloadFeed {
    PayloadFeed { id: FeedId(target.feed_id), url, title, folder_id: target.folder_id.map(FolderId) }
}

/// Writes down what happened, by whoever knows neither who may be told nor the feeds. True if somebody is told.
pub(crate) async fn tell(transaction: &Transaction<'_>, news: &[DomainEvent], now: i64) -> Result<bool, Error> {
    if news.is_empty() {
        return Ok(false);
    }
    let webhooks = webhooks::enabled(transaction).await?;
    if webhooks.is_empty() {
        return Ok(false);
    }
    let feeds = feeds_of(transaction, news).await?;
    write(transaction, &webhooks, &feeds, news, now).await
}

/// Queues one event for one webhook, which is known to want it; the delivery's id.
pub(crate) async fn queue_one(
    transaction: &Transaction<'_>,
    webhook: &Webhook,
    news: &DomainEvent,
    now: i64,
) -> Result<Option<i64>, Error> {
    let events = fan_out(slice::from_ref(webhook), &HashMap::new(), slice::from_ref(news));
    Ok(insert(transaction, &events, now).await?.first().map(|row| row.get(0)))
}

/// Writes down what happened to these feeds, for those of these webhooks who want it. True if somebody is told.
pub(crate) async fn write(
    transaction: &Transaction<'_>,
    webhooks: &[Webhook],
    feeds: &HashMap<FeedId, PayloadFeed>,
    news: &[DomainEvent],
    now: i64,
) -> Result<bool, Error> {
    let mut has_queued = false;
    for news in news.chunks(EVENTS_A_STATEMENT) {
        let events = fan_out(webhooks, feeds, news);
        if !events.is_empty() {
            insert(transaction, &events, now).await?;
            has_queued = true;
        }
    }
    Ok(has_queued)
}

async fn insert(transaction: &Transaction<'_>, events: &[Outgoing], now: i64) -> Result<Vec<Row>, Error> {
    let kinds: Vec<&str> = events.iter().map(|event| event.scope.kind.name()).collect();
    let feeds: Vec<Option<i64>> = events.iter().map(|event| event.scope.feed_id.map(|feed| feed.0)).collect();
    let folders: Vec<Option<i64>> = events.iter().map(|event| event.scope.folder_id.map(|folder| folder.0)).collect();
    let about: Vec<Option<i64>> = events.iter().map(|event| event.scope.webhook_id.map(|about| about.0)).collect();
    let backlog: Vec<bool> = events.iter().map(|event| event.scope.is_backlog).collect();
    let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
    let told =
        events.iter().zip(1..).flat_map(|(event, place)| event.to.iter().map(move |to| (usize_to_i64(place), to.0)));
    let (places, told): (Vec<i64>, Vec<i64>) = told.unzip();
    query(transaction, INSERT, &[&now, &kinds, &feeds, &folders, &about, &backlog, &data, &places, &told]).await
}

async fn feeds_of(client: &impl GenericClient, news: &[DomainEvent]) -> Result<HashMap<FeedId, PayloadFeed>, Error> {
    let ids: Vec<i64> = news.iter().filter_map(|news| news.feed_id().map(|feed| feed.0)).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = query(client, FEEDS, &[&ids]).await?;
    Ok(rows.iter().map(feed_of).map(|feed| (feed.id, feed)).collect())
}

fn feed_of(row: &Row) -> PayloadFeed {
    let folder_id = row.get::<_, Option<i64>>(3).map(FolderId);
    PayloadFeed { id: FeedId(row.get(0)), url: row.get(1), title: row.get(2), folder_id }
}
