//! What happened, written down in the transaction that makes it happen: one event, and a delivery for each who wants to
//! know. Where nobody does, that is found out first, and nothing is made.

use std::{collections::HashMap, sync::Arc};

use domain::{
    FeedId, FolderId, WebhookId,
    delivery::{DomainEvent, EventScope, EventType, Outgoing, PayloadFeed, UPDATES_EVERY, Webhook, fan_out, is_wanted},
};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{entries, outbox::webhooks, shared::writer::WriteTx};
use crate::target::Target;
use crate::values::{millis, usize_to_i64};

const FEED: &str = "SELECT id, url, coalesce(custom_title, title), folder_id FROM feeds WHERE id = ?";

const EVENT: &str = include_str!("sql/events_event.sql");

const DELIVERY: &str = include_str!("sql/events_delivery.sql");

const TOLD: &str = include_str!("sql/events_told.sql");

/// What the writer keeps in mind about the outbox while it writes a group of jobs.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    listeners: Option<Arc<[Webhook]>>,
}

impl Outbox {
    /// Webhooks were changed, or a change was undone, or the group is at its end: who is to be told of events is asked anew.
    pub(crate) fn forget_listeners(&mut self) {
        self.listeners = None;
    }
}

/// An entry that somebody is told of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryEvent {
    Created(i64),
    Updated(i64),
}

/// Which news of entries anybody wants.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Interest {
    pub(crate) in_created: bool,
    pub(crate) in_updated: bool,
}

/// Whether anybody is told of entries that a document brings.
pub(crate) fn interest(changes: &mut WriteTx<'_>, target: Target) -> Result<Interest> {
    let listeners = listeners(changes)?;
    let is_wanted = |kind: EventType, is_backlog: bool| {
        let (feed_id, folder_id) = (Some(FeedId(target.feed_id)), target.folder_id.map(FolderId));
        is_wanted(&listeners, &EventScope { kind, feed_id, folder_id, is_backlog, webhook_id: None })
    };
    Ok(Interest {
        in_created: is_wanted(EventType::EntryCreated, target.is_backlog),
        in_updated: is_wanted(EventType::EntryUpdated, false),
    })
}

/// Writes down what happened to entries of one feed, for those who want to know.
pub(crate) fn tell_entries(changes: &mut WriteTx<'_>, target: Target, happened: &[EntryEvent]) -> Result<()> {
    if happened.is_empty() {
        return Ok(());
    }
    let (connection, listeners) = (changes.connection, listeners(changes)?);
    let feeds = feeds_of(connection, [FeedId(target.feed_id)])?;
    for one in happened {
        let (EntryEvent::Created(id) | EntryEvent::Updated(id)) = *one;
        if matches!(one, EntryEvent::Updated(_)) && !may_tell_update(connection, id, target.now)? {
            continue;
        }
        let Some(entry) = entries::one(connection, id)?.map(Box::new) else { continue };
        let news = match one {
            EntryEvent::Created(_) => DomainEvent::EntryCreated { entry, is_backlog: target.is_backlog },
            EntryEvent::Updated(_) => DomainEvent::EntryUpdated(entry),
        };
        // One at a time: a document may be large.
        queue(changes, &fan_out(&listeners, &feeds, &[news]))?;
    }
    Ok(())
}

/// Writes down what happened, for those who want to know.
pub(crate) fn tell(changes: &mut WriteTx<'_>, news: &[DomainEvent]) -> Result<()> {
    if news.is_empty() {
        return Ok(());
    }
    let listeners = listeners(changes)?;
    if listeners.is_empty() {
        return Ok(());
    }
    let feeds = feeds_of(changes.connection, news.iter().filter_map(DomainEvent::feed_id))?;
    queue(changes, &fan_out(&listeners, &feeds, news))
}

/// Stores events, and a delivery of each for each who is told.
pub(crate) fn queue(changes: &mut WriteTx<'_>, events: &[Outgoing]) -> Result<()> {
    let (connection, now) = (changes.connection, changes.now());
    for Outgoing { scope, data, to } in events {
        connection.prepare_cached(EVENT)?.execute((
            scope.kind.name(),
            now,
            scope.feed_id.map(|id| id.0),
            scope.folder_id.map(|id| id.0),
            scope.webhook_id.map(|id| id.0),
            scope.is_backlog,
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

/// Who is told of events. One look for all jobs of a group: nobody else writes meanwhile.
fn listeners(changes: &mut WriteTx<'_>) -> Result<Arc<[Webhook]>> {
    if let Some(listeners) = &changes.outbox.listeners {
        return Ok(Arc::clone(listeners));
    }
    let listeners: Arc<[Webhook]> = webhooks::enabled(changes.connection, changes.now())?.into();
    changes.outbox.listeners = Some(Arc::clone(&listeners));
    Ok(listeners)
}

fn may_tell_update(connection: &Connection, entry: i64, now: i64) -> Result<bool> {
    Ok(connection.prepare_cached(TOLD)?.execute((entry, now, millis(UPDATES_EVERY)))? > 0)
}

fn feeds_of(connection: &Connection, ids: impl IntoIterator<Item = FeedId>) -> Result<HashMap<FeedId, PayloadFeed>> {
    let mut statement = connection.prepare_cached(FEED)?;
    let mut feeds = HashMap::new();
    for id in ids {
        let feed = statement.query_row([id.0], |row| {
            let folder_id = row.get::<_, Option<i64>>(3)?.map(FolderId);
            Ok(PayloadFeed { id: FeedId(row.get(0)?), url: row.get(1)?, title: row.get(2)?, folder_id })
        });
        feeds.extend(feed.optional()?.map(|feed| (id, feed)));
    }
    Ok(feeds)
}
