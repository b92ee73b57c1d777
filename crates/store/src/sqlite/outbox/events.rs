//! Records events in the transaction that causes them: each event once, and a delivery for each webhook that wants
//! it. Where none does, that is found out first, and nothing is made.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use domain::{
    AccountId, FeedId, FolderId, WebhookId,
    delivery::{
        DomainEvent, EventScope, EventType, Follow, Follows, Outgoing, PayloadFeed, UPDATES_EVERY, Webhook, fan_out,
        is_wanted,
    },
};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{entries, outbox::webhooks, shared::writer::WriteTx};
use crate::target::Target;
use crate::values::{millis, usize_to_i64};

const FEED: &str = "SELECT url, title FROM feeds WHERE id = ?";

pub(crate) const FOLLOWS: &str = include_str!("sql/events_follows.sql");

const EVENT: &str = include_str!("sql/events_event.sql");

const DELIVERY: &str = include_str!("sql/events_delivery.sql");

const UPDATE_SENT: &str = include_str!("sql/events_update_sent.sql");

/// The webhooks that events are for, and whose they are.
#[derive(Debug)]
pub(crate) struct Listeners {
    webhooks: Vec<Webhook>,
    /// Their accounts, as JSON.
    accounts: String,
}

/// What the writer keeps in mind about the outbox while it writes a group of jobs.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    listeners: Option<Arc<Listeners>>,
}

impl Outbox {
    /// Webhooks were changed, or a change was undone, or the group is at its end: the listeners are read anew.
    pub(crate) fn forget_listeners(&mut self) {
        self.listeners = None;
    }
}

/// An event of an entry, by its id.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryEvent {
    Created(i64),
    Updated(i64),
}

/// Which events of entries any webhook wants, and which accounts of listeners follow their feed.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    pub(crate) in_created: bool,
    pub(crate) in_updated: bool,
    follows: Follows,
}

/// Whether any webhook wants the events of a document.
pub(crate) fn interest(changes: &mut WriteTx<'_>, target: Target) -> Result<Interest> {
    let listeners = listeners(changes)?;
    let feed = FeedId(target.feed_id);
    let follows = follows_of(changes.connection, &listeners, [feed])?;
    let is_wanted = |kind: EventType, is_backlog: bool| {
        let scope = EventScope { kind, feed_id: Some(feed), account_id: None, is_backlog, webhook_id: None };
        is_wanted(&listeners.webhooks, &follows, &scope)
    };
    Ok(Interest {
        in_created: is_wanted(EventType::EntryCreated, target.is_backlog),
        in_updated: is_wanted(EventType::EntryUpdated, false),
        follows,
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
    let (connection, listeners) = (changes.connection, listeners(changes)?);
    let feeds = feeds_of(connection, [FeedId(target.feed_id)])?;
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
        queue(changes, &fan_out(&listeners.webhooks, &interest.follows, &feeds, &[event]))?;
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
    let (connection, listeners) = (changes.connection, listeners(changes)?);
    let follows = follows_of(connection, &listeners, [feed])?;
    let (kind, feed_id, account_id) = (EventType::EntryCreated, Some(feed), Some(account));
    let scope = EventScope { kind, feed_id, account_id, is_backlog: true, webhook_id: None };
    if !is_wanted(&listeners.webhooks, &follows, &scope) {
        return Ok(());
    }
    let feeds = feeds_of(connection, [feed])?;
    for id in unread {
        let Some(entry) = entries::one_unmarked(connection, *id)?.map(Box::new) else { continue };
        let events = [DomainEvent::EntryFollowed(account, entry)];
        queue(changes, &fan_out(&listeners.webhooks, &follows, &feeds, &events))?;
    }
    Ok(())
}

/// Records events, for the webhooks that want them.
pub(crate) fn record(changes: &mut WriteTx<'_>, events: &[DomainEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let listeners = listeners(changes)?;
    if listeners.webhooks.is_empty() {
        return Ok(());
    }
    let follows = follows_of(changes.connection, &listeners, events.iter().filter_map(DomainEvent::feed_id))?;
    let feeds = feeds_of(changes.connection, events.iter().filter_map(DomainEvent::feed_id))?;
    queue(changes, &fan_out(&listeners.webhooks, &follows, &feeds, events))
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

/// The listeners. One look for all jobs of a group: nobody else writes meanwhile.
fn listeners(changes: &mut WriteTx<'_>) -> Result<Arc<Listeners>> {
    if let Some(listeners) = &changes.outbox.listeners {
        return Ok(Arc::clone(listeners));
    }
    let webhooks = webhooks::enabled(changes.connection, changes.now())?;
    let accounts: BTreeSet<i64> = webhooks.iter().map(|webhook| webhook.account_id.0).collect();
    let accounts = serde_json::Value::from(accounts.into_iter().collect::<Vec<_>>()).to_string();
    let listeners = Arc::new(Listeners { webhooks, accounts });
    changes.outbox.listeners = Some(Arc::clone(&listeners));
    Ok(listeners)
}

fn may_send_update(connection: &Connection, entry: i64, now: i64) -> Result<bool> {
    Ok(connection.prepare_cached(UPDATE_SENT)?.execute((entry, now, millis(UPDATES_EVERY)))? > 0)
}

/// Which accounts of listeners follow these feeds.
fn follows_of(
    connection: &Connection,
    listeners: &Listeners,
    feeds: impl IntoIterator<Item = FeedId>,
) -> Result<Follows> {
    let mut follows = Follows::new();
    if listeners.webhooks.is_empty() {
        return Ok(follows);
    }
    let mut statement = connection.prepare_cached(FOLLOWS)?;
    for feed in feeds {
        let mut rows = statement.query((feed.0, &listeners.accounts))?;
        while let Some(row) = rows.next()? {
            let folder_id = row.get::<_, Option<i64>>(1)?.map(FolderId);
            follows.insert((feed, AccountId(row.get(0)?)), Follow { folder_id });
        }
    }
    Ok(follows)
}

fn feeds_of(connection: &Connection, ids: impl IntoIterator<Item = FeedId>) -> Result<HashMap<FeedId, PayloadFeed>> {
    let mut statement = connection.prepare_cached(FEED)?;
    let mut feeds = HashMap::new();
    for id in ids {
        let feed = statement.query_row([id.0], |row| Ok(PayloadFeed { id, url: row.get(0)?, title: row.get(1)? }));
        feeds.extend(feed.optional()?.map(|feed| (id, feed)));
    }
    Ok(feeds)
}
