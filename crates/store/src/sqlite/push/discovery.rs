//! What a feed says about push, kept, and followed: hubs and topic become subscriptions, and what a poll finds that
//! was not pushed is held against the hub.

use std::time::Duration;

use domain::{
    FeedId,
    ingest::PushDiscovery,
    push::{self, DesiredPush, Offer, RenewalRules, SubscriptionEvent},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{
    push::{
        subscription_changes::{change, reconcile},
        subscriptions,
    },
    shared::{
        errors::{unfit, unreadable},
        writer::WriteTx,
    },
};
use crate::values::{hubs, hubs_of, optional, text, time};

const DISCOVERED: &str = include_str!("sql/discovery_discovered.sql");

pub(crate) const WANTS: &str = include_str!("sql/discovery_wants.sql");

pub(crate) const TO_SUBSCRIBE: &str = include_str!("sql/discovery_to_subscribe.sql");

/// What a feed's row says about push.
#[derive(Debug, Clone)]
pub(crate) struct PushState {
    pub(crate) url: String,
    pub(crate) is_enabled: bool,
    /// As they are kept.
    pub(crate) hubs: String,
    pub(crate) topic: Option<String>,
    /// A hub is trusted to push it.
    pub(crate) is_pushed: bool,
    pub(crate) has_subscriptions: bool,
}

impl PushState {
    /// Of a feed that is new.
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: text(url).into_owned(),
            is_enabled: true,
            hubs: "[]".to_owned(),
            topic: None,
            is_pushed: false,
            has_subscriptions: false,
        }
    }
}

/// Keeps what was found, if it is not known, and subscribes accordingly, if push is on. Costs nothing for a feed that
/// has no hub and never had one.
pub(crate) fn follow(
    changes: &mut WriteTx<'_>,
    feed: FeedId,
    state: &PushState,
    found: &PushDiscovery,
    now: i64,
) -> Result<()> {
    let column = hubs(&found.discovery.hubs).map_err(unfit)?;
    let topic = optional(found.discovery.topic.as_ref());
    if column != state.hubs || topic.as_deref() != state.topic.as_deref() {
        changes.connection.prepare_cached(DISCOVERED)?.execute((feed.0, &column, &topic))?;
    }
    match &found.offer {
        Some(offer) if !found.discovery.hubs.is_empty() || state.has_subscriptions => {
            // As they are kept: what is compared with what is known must be cleaned as that was.
            let hubs: Vec<String> = found.discovery.hubs.iter().map(|hub| text(hub).into_owned()).collect();
            let hubs = if state.is_enabled { hubs.as_slice() } else { &[] };
            let topic = topic.as_deref().unwrap_or(&state.url);
            reconcile(changes, feed, DesiredPush { hubs, topic, base_url: &offer.base_url }, offer, now).map(drop)
        }
        _ => Ok(()),
    }
}

/// New entries in a feed that a hub is trusted to push: it may have missed them.
pub(crate) fn count_misses(
    changes: &mut WriteTx<'_>,
    feed: FeedId,
    published: Vec<Option<Timestamp>>,
    push_may_take: Duration,
    now: i64,
) -> Result<()> {
    match subscriptions::current_of(changes.connection, feed.0)? {
        Some(subscription) if push::missed(published, &subscription, push_may_take, time(now)) => {
            change(changes, subscription, &SubscriptionEvent::Missed, RenewalRules::default(), now).map(drop)
        }
        _ => Ok(()),
    }
}

/// Gives feeds the subscriptions that they want. Returns how many needed a change.
pub(crate) fn subscribe(changes: &mut WriteTx<'_>, requests: &[(FeedId, Offer)]) -> Result<u32> {
    let (connection, now) = (changes.connection, changes.now());
    let mut affected = 0;
    for (feed, offer) in requests {
        let wants = connection.prepare_cached(WANTS)?.query_row([feed.0], |row| {
            let hubs = hubs_of(row.get_ref(2)?.as_str()?).map_err(|error| unreadable(2, error))?;
            let (url, topic): (String, Option<String>) = (row.get(0)?, row.get(3)?);
            Ok((if row.get(1)? { hubs } else { Vec::new() }, topic.unwrap_or(url)))
        });
        let Some((hubs, topic)) = wants.optional()? else { continue };
        let wanted = DesiredPush { hubs: &hubs, topic: &topic, base_url: &offer.base_url };
        affected += u32::from(reconcile(changes, *feed, wanted, offer, now)?);
    }
    Ok(affected)
}

/// Feeds after this one that want push and have none at this base URL.
pub(crate) fn to_subscribe(connection: &Connection, base_url: &str, after: FeedId, limit: u32) -> Result<Vec<FeedId>> {
    let mut statement = connection.prepare_cached(TO_SUBSCRIBE)?;
    statement.query_map((after.0, base_url, limit), |row| row.get(0).map(FeedId))?.collect()
}
