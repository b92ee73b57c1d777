//! Events of entries that were just stored: only those that a webhook wants.

use domain::{
    AccountId, FeedId,
    delivery::{DomainEvent, EventScope, EventType, UPDATES_EVERY, fan_out, is_wanted},
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    entries,
    outbox::events::{Listeners, feeds_of, listeners_of, queue},
    shared::writer::WriteTx,
};
use crate::target::Target;
use crate::values::millis;

const UPDATES_SENT: &str = include_str!("sql/entry_events_updates_sent.sql");

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
    let is_wanted = |kind: EventType| {
        let scope = EventScope::of_entry(kind, feed, target.is_backlog);
        is_wanted(&listeners.webhooks, &listeners.follows, &scope)
    };
    Ok(Interest {
        in_created: is_wanted(EventType::EntryCreated),
        in_updated: is_wanted(EventType::EntryUpdated),
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

fn may_send_update(connection: &Connection, entry: i64, now: i64) -> Result<bool> {
    Ok(connection.prepare_cached(UPDATES_SENT)?.execute((entry, now, millis(UPDATES_EVERY)))? > 0)
}
