//! Records events in the transaction that causes them: each event once, and a delivery for each webhook that wants
//! it. Where none does, that is found out first, and nothing is made.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use domain::{
    AccountId, FeedId, FolderId, WebhookId,
    delivery::{
        DomainEvent, EventScope, EventType, Follow, Follows, Outgoing, PayloadFeed, UPDATES_EVERY, Webhook, fan_out,
        is_wanted,
    },
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{entries, outbox::webhooks, shared::writer::WriteTx};
use crate::target::Target;
use crate::values::{millis, usize_to_i64};

const FEED: &str = "SELECT url, title FROM feeds WHERE id = ?";

/// Only of accounts that have webhooks: what others have is never read.
pub(crate) const FOLLOWS: &str = include_str!("sql/events_follows.sql");

const EVENT: &str = include_str!("sql/events_event.sql");

const DELIVERY: &str = include_str!("sql/events_delivery.sql");

const UPDATE_SENT: &str = include_str!("sql/events_update_sent.sql");

/// Who may want the events of some feeds: the enabled webhooks of those who follow them.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    webhooks: Vec<Arc<Webhook>>,
    follows: Follows,
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

/// An event of an entry, by its id.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryEvent {
    Created(i64),
    Updated(i64),
}

/// Which events of entries any webhook wants, and who may want them.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    pub(crate) in_created: bool,
    pub(crate) in_updated: bool,
    listeners: Listeners,
}

/// Whether any webhook wants the events of a document.
pub(crate) fn interest(changes: &mut WriteTx<'_>, target: Target) -> Result<Interest> {
    let feed = FeedId(target.feed_id);
    let listeners = listeners_of(changes, [feed])?;
    let is_wanted = |kind: EventType, is_backlog: bool| {
        let scope = EventScope { kind, feed_id: Some(feed), account_id: None, is_backlog, webhook_id: None };
        is_wanted(&listeners.webhooks, &listeners.follows, &scope)
    };
    Ok(Interest {
        in_created: is_wanted(EventType::EntryCreated, target.is_backlog),
        in_updated: is_wanted(EventType::EntryUpdated, false),
        listeners,
    })
}

/// Records the events of entries of one feed, for the webhooks that want them.
pub(crate) fn record_entries(
    changes: &mut WriteTx<'_>,
    target: Target,
    interest: &Interest,
    happened: &[EntryEvent],
) -> Result<()> {
    if happened.is_empty() {
        return Ok(());
    }
    let (connection, Listeners { webhooks, follows }) = (changes.connection, &interest.listeners);
    let mut feeds = feeds_of(connection, [FeedId(target.feed_id)])?;
    for feed in feeds.values_mut() {
        feed.trace = target.trace;
    }
    for one in happened {
        let (EntryEvent::Created(id) | EntryEvent::Updated(id)) = *one;
        if matches!(one, EntryEvent::Updated(_)) && !may_send_update(connection, id, target.now)? {
            continue;
        }
        let Some(entry) = entries::one_unmarked(connection, id)?.map(Box::new) else { continue };
        let event = match one {
            EntryEvent::Created(_) => DomainEvent::EntryCreated { entry, is_backlog: target.is_backlog },
            EntryEvent::Updated(_) => DomainEvent::EntryUpdated(entry),
        };
        // One at a time: a document may be large.
        queue(changes, &fan_out(webhooks, follows, &feeds, &[event]))?;
    }
    Ok(())
}

/// Records the unread entries of a feed that an account begins to follow, for its webhooks that want backlog.
pub(crate) fn record_backlog(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    feed: FeedId,
    unread: &[i64],
) -> Result<()> {
    if unread.is_empty() {
        return Ok(());
    }
    let connection = changes.connection;
    let Listeners { webhooks, follows } = listeners_of(changes, [feed])?;
    let (kind, feed_id, account_id) = (EventType::EntryCreated, Some(feed), Some(account));
    let scope = EventScope { kind, feed_id, account_id, is_backlog: true, webhook_id: None };
    if !is_wanted(&webhooks, &follows, &scope) {
        return Ok(());
    }
    let feeds = feeds_of(connection, [feed])?;
    for id in unread {
        let Some(entry) = entries::one_unmarked(connection, *id)?.map(Box::new) else { continue };
        let events = [DomainEvent::EntryFollowed(account, entry)];
        queue(changes, &fan_out(&webhooks, &follows, &feeds, &events))?;
    }
    Ok(())
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
fn listeners_of(changes: &mut WriteTx<'_>, feeds: impl IntoIterator<Item = FeedId>) -> Result<Listeners> {
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

fn may_send_update(connection: &Connection, entry: i64, now: i64) -> Result<bool> {
    Ok(connection.prepare_cached(UPDATE_SENT)?.execute((entry, now, millis(UPDATES_EVERY)))? > 0)
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

fn feeds_of(connection: &Connection, ids: impl IntoIterator<Item = FeedId>) -> Result<HashMap<FeedId, PayloadFeed>> {
    let mut statement = connection.prepare_cached(FEED)?;
    let mut feeds = HashMap::new();
    for id in ids {
        let feed = statement
            .query_row([id.0], |row| Ok(PayloadFeed { id, url: row.get(0)?, title: row.get(1)?, trace: None }));
        feeds.extend(feed.optional()?.map(|feed| (id, feed)));
    }
    Ok(feeds)
}
