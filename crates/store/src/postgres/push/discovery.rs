//! What a feed says about push, kept, and followed: hubs and topic become subscriptions, and what a poll finds that
//! was not pushed is held against the hub.

use std::{borrow::Cow, time::Duration};

use deadpool_postgres::{Client, Transaction};
use domain::{
    FeedId,
    changes::ChangeLog,
    delivery::DomainEvent,
    ingest::{IncomingEntry, PushDiscovery},
    ports::StoreResult,
    push::{self, DesiredPush, Offer, RenewalRules, SubscriptionEvent},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore,
    outbox::events,
    push::{subscription_changes::Decisions, subscriptions},
    query, query_then,
    shared::{
        errors::{is_unique_violation, store_error},
        values::{self, Parsed, optional, text, time},
    },
};
use crate::target::Target;

/// What the column of a feed's hubs holds if it has none.
const NO_HUBS: &str = "[]";

/// Feeds in one transaction: their rows are locked meanwhile.
const CHUNK: usize = 50;

/// Times a chunk is tried again because another node made the same subscription in the same moment.
const RACES_MAX: u32 = 3;

const LOCK_FEEDS: &str = include_str!("sql/discovery_lock_feeds.sql");

const TO_SUBSCRIBE: &str = include_str!("sql/discovery_to_subscribe.sql");

/// What a feed's row says about push.
#[derive(Debug, Clone)]
pub(crate) struct PushState {
    pub(crate) url: String,
    /// As they are kept.
    hubs: String,
    topic: Option<String>,
    /// A hub is trusted to push it.
    is_pushed: bool,
    is_enabled: bool,
    has_subscriptions: bool,
}

impl PushState {
    /// Of a feed that is new.
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: text(url).into_owned(),
            hubs: NO_HUBS.to_owned(),
            topic: None,
            is_pushed: false,
            is_enabled: true,
            has_subscriptions: false,
        }
    }

    /// From the columns that begin at this place: url, hubs, topic, whether it is pushed, whether it is to be, and
    /// whether it has subscriptions.
    pub(crate) fn of_row(row: &Row, at: usize) -> Self {
        Self {
            url: row.get(at),
            hubs: row.get(at + 1),
            topic: row.get(at + 2),
            is_pushed: row.get(at + 3),
            is_enabled: row.get(at + 4),
            has_subscriptions: row.get(at + 5),
        }
    }

    /// Hubs and topic as they are to be kept, if they are others than those that are.
    pub(crate) fn changed_discovery<'f>(
        &self,
        found: Option<&'f PushDiscovery>,
    ) -> Option<(Cow<'static, str>, Option<Cow<'f, str>>)> {
        let discovery = &found?.discovery;
        let hubs = values::hubs(&discovery.hubs).expect("a list of texts can always be written down");
        let topic = optional(discovery.topic.as_ref());
        let is_known = hubs == self.hubs && topic.as_deref() == self.topic.as_deref();
        (!is_known).then_some((hubs, topic))
    }

    /// The offer, if subscriptions are to be compared with what was found. Whether there are any was seen before the wait
    /// for the feed's lock; but who made one meanwhile knew a hub.
    fn offer<'f>(&self, found: &'f PushDiscovery) -> Option<&'f Offer> {
        let may_differ = !found.discovery.hubs.is_empty() || self.has_subscriptions || self.hubs != NO_HUBS;
        found.offer.as_ref().filter(|_| may_differ)
    }
}

/// What a document means for the subscriptions of its feed, and the events of that. Costs nothing for a feed that has
/// no hub and never had one.
pub(crate) async fn follow(
    transaction: &Transaction<'_>,
    target: Target,
    state: &PushState,
    found: Option<&PushDiscovery>,
    new: &[Cow<'_, IncomingEntry>],
) -> Result<(Vec<DomainEvent>, ChangeLog), Error> {
    let may_have_missed = state.is_pushed && !new.is_empty();
    let offered = found.and_then(|found| Some((found, state.offer(found)?)));
    if !may_have_missed && offered.is_none() {
        return Ok(Default::default());
    }
    let known = subscriptions::of_feed(transaction, target.feed_id).await?;
    let mut decisions = Decisions::new(known, target.now);
    if may_have_missed {
        let push_may_take = found.map_or(push::PUSH_MAY_TAKE, |found| found.push_may_take);
        count_misses(&mut decisions, new, push_may_take, target.now);
    }
    if let Some((found, offer)) = offered {
        compare(&mut decisions, FeedId(target.feed_id), state, found, offer);
    }
    if decisions.is_empty() {
        return Ok(Default::default());
    }
    subscriptions::lock_of_feeds(transaction, &[target.feed_id]).await?;
    decisions.write(transaction).await?;
    Ok(decisions.into_events())
}

/// New entries in a feed that a hub is trusted to push: it may have missed them.
fn count_misses(decisions: &mut Decisions, new: &[Cow<'_, IncomingEntry>], push_may_take: Duration, now: i64) {
    let published = new.iter().map(|entry| entry.published_at.or(entry.updated_at));
    let current = decisions.known().iter().find(|known| known.is_current);
    let missed = current.filter(|current| push::missed(published, current, push_may_take, time(now)));
    if let Some(id) = missed.map(|current| current.id) {
        decisions.decide(id, &SubscriptionEvent::Missed, RenewalRules::default());
    }
}

fn compare(decisions: &mut Decisions, feed: FeedId, state: &PushState, found: &PushDiscovery, offer: &Offer) {
    // As they are kept: what is compared with what is known must be cleaned as that was.
    let hubs: Vec<String> = found.discovery.hubs.iter().map(|hub| text(hub).into_owned()).collect();
    let hubs = if state.is_enabled { hubs.as_slice() } else { &[] };
    let topic = optional(found.discovery.topic.as_ref());
    let topic = topic.as_deref().unwrap_or(&state.url);
    decisions.reconcile(feed, DesiredPush { hubs, topic, base_url: &offer.base_url }, offer);
}

/// Gives feeds the subscriptions that they want, in chunks. Returns how many needed a change.
pub(crate) async fn subscribe(store: &PostgresStore, mut requests: Vec<(FeedId, Offer)>) -> StoreResult<u32> {
    let mut client = store.client_for_long().await?;
    // Rows are locked in the order of their ids; of a feed that is there twice the first counts.
    requests.sort_by_key(|(feed, _)| *feed);
    requests.dedup_by_key(|(feed, _)| *feed);
    let mut affected = 0;
    for requests in requests.chunks(CHUNK) {
        affected += subscribe_some(store, &mut client, requests).await?;
    }
    Ok(affected)
}

async fn subscribe_some(store: &PostgresStore, client: &mut Client, requests: &[(FeedId, Offer)]) -> StoreResult<u32> {
    for _ in 1..RACES_MAX {
        match try_subscribe(store, client, requests).await {
            Err(error) if is_unique_violation(&error) => {}
            affected => return affected.map_err(store_error),
        }
    }
    try_subscribe(store, client, requests).await.map_err(store_error)
}

async fn try_subscribe(store: &PostgresStore, client: &mut Client, requests: &[(FeedId, Offer)]) -> Result<u32, Error> {
    let ids: Vec<i64> = requests.iter().map(|(feed, _)| feed.0).collect();
    let transaction = client.transaction().await?;
    let which: Params<'_> = &[&ids];
    let known = subscriptions::lock_of_feeds(&transaction, &ids);
    let (feeds, known) = query_then(&transaction, LOCK_FEEDS, which, known).await?;
    let Some(now) = feeds.last().map(|row| row.get(3)) else { return Ok(0) };
    let mut decisions = Decisions::new(known, now);
    let mut affected = 0;
    for row in &feeds {
        let feed = FeedId(row.get(0));
        let Some((_, offer)) = requests.iter().find(|(requested, _)| *requested == feed) else { continue };
        let hubs = row.try_get::<_, Parsed<Vec<String>>>(2)?.0;
        let wanted = DesiredPush { hubs: &hubs, topic: row.get(1), base_url: &offer.base_url };
        affected += u32::from(decisions.reconcile(feed, wanted, offer));
    }
    if affected > 0 {
        decisions.write(&transaction).await?;
        let (events, mut log) = decisions.into_events();
        log.deliveries_if(events::record(&transaction, &events, now).await?);
        store.commit(transaction, log).await?;
    }
    Ok(affected)
}

/// Feeds after this one that want push and have none at this base URL.
pub(crate) async fn to_subscribe(
    client: &Client,
    base_url: &str,
    after: FeedId,
    limit: u32,
) -> Result<Vec<FeedId>, Error> {
    let rows = query(client, TO_SUBSCRIBE, &[&text(base_url), &after.0, &i64::from(limit)]).await?;
    Ok(rows.iter().map(|row| FeedId(row.get(0))).collect())
}
