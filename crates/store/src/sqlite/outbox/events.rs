//! Records events in the transaction that causes them: each event once, and a delivery for each webhook that wants
//! it. Where none does, that is found out first, and nothing is made.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use domain::{
    AccountId, FeedId, FolderId, WebhookId,
    delivery::{DomainEvent, Follow, Follows, Outgoing, PayloadFeed, Webhook, fan_out},
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{outbox::webhooks, shared::writer::WriteTx};
use crate::values::usize_to_i64;

const FEED: &str = "SELECT url, title FROM feeds WHERE id = ?";

/// Only of accounts that have webhooks: what others have is never read.
pub(crate) const FOLLOWS: &str = include_str!("sql/events_follows.sql");

const EVENT: &str = include_str!("sql/events_event.sql");

const DELIVERY: &str = include_str!("sql/events_delivery.sql");

/// Who may want the events of some feeds: the enabled webhooks of those who follow them.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) webhooks: Vec<Arc<Webhook>>,
    pub(crate) follows: Follows,
}

/// What the writer keeps in mind about the outbox while it writes a group of jobs.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// The enabled webhooks of the accounts that were asked for.
    webhooks: HashMap<AccountId, Vec<Arc<Webhook>>>,
}

impl Outbox {
    /// Webhooks were changed, or a change was undone, or the group is at its end: the listeners are read anew.
    pub(crate) fn forget_listeners(&mut self) {
        self.webhooks.clear();
    }
}

/// Records events, for the webhooks that want them.
pub(crate) fn record(changes: &mut WriteTx<'_>, events: &[DomainEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let Listeners { mut webhooks, follows } = listeners_of(changes, events.iter().filter_map(DomainEvent::feed_id))?;
    for account in events.iter().filter_map(DomainEvent::account_id) {
        webhooks.extend(webhooks_of(changes, account)?.iter().cloned());
    }
    if webhooks.is_empty() {
        return Ok(());
    }
    each_once(&mut webhooks);
    let feeds = feeds_of(changes.connection, events.iter().filter_map(DomainEvent::feed_id))?;
    queue(changes, &fan_out(&webhooks, &follows, &feeds, events))
}

/// Stores events, and a delivery of each for each of its webhooks.
pub(crate) fn queue(changes: &mut WriteTx<'_>, events: &[Outgoing]) -> Result<()> {
    let (connection, now) = (changes.connection, changes.now());
    for Outgoing { scope, entry_id, feed, data, to } in events {
        connection.prepare_cached(EVENT)?.execute((
            scope.kind.name(),
            now,
            scope.feed_id.map(|id| id.0),
            scope.account_id.map(|id| id.0),
            scope.webhook_id.map(|id| id.0),
            entry_id.map(|id| id.0),
            scope.is_backlog,
            feed,
            usize_to_i64(data.len()),
            data,
        ))?;
        let event = connection.last_insert_rowid();
        for webhook in to {
            queue_one(changes, event, *webhook, now)?;
        }
    }
    Ok(())
}

/// Queues a stored event for one webhook; returns the delivery.
pub(crate) fn queue_one(changes: &mut WriteTx<'_>, event: i64, webhook: WebhookId, now: i64) -> Result<i64> {
    changes.connection.prepare_cached(DELIVERY)?.execute((event, webhook.0, now))?;
    changes.log.deliveries();
    Ok(changes.connection.last_insert_rowid())
}

/// Who may want the events of these feeds.
pub(crate) fn listeners_of(changes: &mut WriteTx<'_>, feeds: impl IntoIterator<Item = FeedId>) -> Result<Listeners> {
    let mut listeners = Listeners::default();
    for feed in feeds {
        for (account, follow) in follows_of(changes.connection, feed)? {
            listeners.webhooks.extend(webhooks_of(changes, account)?.iter().cloned());
            listeners.follows.insert((feed, account), follow);
        }
    }
    each_once(&mut listeners.webhooks);
    Ok(listeners)
}

/// The enabled webhooks of an account. One look for all jobs of a group: nobody else writes meanwhile.
fn webhooks_of<'c>(changes: &'c mut WriteTx<'_>, account: AccountId) -> Result<&'c [Arc<Webhook>]> {
    let (connection, now) = (changes.connection, changes.now());
    Ok(match changes.outbox.webhooks.entry(account) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => {
            let webhooks = webhooks::enabled(connection, account, now)?;
            place.insert(webhooks.into_iter().map(Arc::new).collect())
        }
    })
}

/// In the order in which they were made.
fn each_once(webhooks: &mut Vec<Arc<Webhook>>) {
    webhooks.sort_unstable_by_key(|webhook| webhook.id);
    webhooks.dedup_by_key(|webhook| webhook.id);
}

/// Which accounts with webhooks follow a feed.
fn follows_of(connection: &Connection, feed: FeedId) -> Result<Vec<(AccountId, Follow)>> {
    let mut statement = connection.prepare_cached(FOLLOWS)?;
    let follow = |row: &Row<'_>| {
        let folder_id = row.get::<_, Option<i64>>(1)?.map(FolderId);
        Ok((AccountId(row.get(0)?), Follow { folder_id }))
    };
    statement.query_map([feed.0], follow)?.collect()
}

pub(crate) fn feeds_of(
    connection: &Connection,
    ids: impl IntoIterator<Item = FeedId>,
) -> Result<HashMap<FeedId, PayloadFeed>> {
    let mut statement = connection.prepare_cached(FEED)?;
    let mut feeds = HashMap::new();
    for id in ids {
        let feed = statement
            .query_row([id.0], |row| Ok(PayloadFeed { id, url: row.get(0)?, title: row.get(1)?, trace: None }));
        feeds.extend(feed.optional()?.map(|feed| (id, feed)));
    }
    Ok(feeds)
}
