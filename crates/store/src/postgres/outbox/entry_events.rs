//! Events of entries that were just stored: only those that a webhook wants.

use std::{borrow::Cow, collections::HashMap};

use deadpool_postgres::Transaction;
use domain::{
    Entry, EntryId, FeedId, File,
    delivery::{DomainEvent, EventScope, EventType, UPDATES_EVERY, is_wanted},
    ingest::IncomingEntry,
};
use jiff::Timestamp;
use tokio_postgres::Error;

use crate::postgres::{
    entries::ingest::Sorted,
    outbox::events::Listeners,
    query,
    shared::values::{millis, optional, text, time},
};
use crate::target::Target;

const UPDATES_SENT: &str = include_str!("sql/entry_events_updates_sent.sql");

/// Events of entries of several feeds: of those that are new, with the ids that they were given, in the same order, and of
/// those that have changed.
pub(crate) async fn of_entries(
    transaction: &Transaction<'_>,
    listeners: &Listeners,
    now: i64,
    parts: &[(Target, &Sorted<'_>)],
    ids: &[i64],
) -> Result<Vec<DomainEvent>, Error> {
    let Listeners { webhooks, follows } = listeners;
    let (mut events, mut changed, mut ids) = (Vec::new(), Vec::new(), ids.iter().copied());
    for (target, sorted) in parts {
        let (target, is_backlog) = (*target, target.is_backlog);
        let new = ids.by_ref().take(sorted.new.len()).zip(sorted.new.iter().map(AsRef::as_ref));
        let created =
            |(id, entry)| DomainEvent::EntryCreated { entry: Box::new(new_entry(target, id, entry)), is_backlog };
        let is_wanted = |kind: EventType| {
            is_wanted(webhooks, follows, &EventScope::of_entry(kind, FeedId(target.feed_id), is_backlog))
        };
        if is_wanted(EventType::EntryCreated) {
            events.extend(new.map(created));
        } else {
            new.for_each(drop);
        }
        if !sorted.changed.is_empty() && is_wanted(EventType::EntryUpdated) {
            changed.extend(sorted.changed.iter().map(|(id, entry)| (target, *id, *entry)));
        }
    }
    if !changed.is_empty() {
        events.extend(of_changed(transaction, now, &changed).await?);
    }
    Ok(events)
}

async fn of_changed(
    transaction: &Transaction<'_>,
    now: i64,
    changed: &[(Target, i64, &IncomingEntry)],
) -> Result<Vec<DomainEvent>, Error> {
    let ids: Vec<i64> = changed.iter().map(|(_, id, _)| *id).collect();
    let rows = query(transaction, UPDATES_SENT, &[&ids, &now, &(now - millis(UPDATES_EVERY))]).await?;
    let rows_by_id: HashMap<i64, _> = rows.iter().map(|row| (row.get(0), row)).collect();
    let updated = |(target, id, incoming): &(Target, i64, &IncomingEntry)| {
        let row = rows_by_id.get(id)?;
        let entry = entry(*target, *id, incoming, row.get(1));
        let entry = Entry { guid: row.get(2), ..entry };
        Some(DomainEvent::EntryUpdated(Box::new(entry)))
    };
    Ok(changed.iter().filter_map(updated).collect())
}

fn new_entry(target: Target, id: i64, incoming: &IncomingEntry) -> Entry {
    entry(target, id, incoming, incoming.sort_at(time(target.now)).as_millisecond())
}

/// An entry as it will be read again: times in milliseconds, texts without NUL.
fn entry(target: Target, id: i64, incoming: &IncomingEntry, sort_at: i64) -> Entry {
    let kept = |at: Option<Timestamp>| at.map(|at| time(at.as_millisecond()));
    let clean = |value: &Option<String>| optional(value.as_ref()).map(Cow::into_owned);
    let file = |file: &File| File { url: text(&file.url).into_owned(), mime: clean(&file.mime), ..file.clone() };
    Entry {
        id: EntryId(id),
        feed_id: FeedId(target.feed_id),
        guid: text(&incoming.guid).into_owned(),
        url: clean(&incoming.url),
        title: clean(&incoming.title),
        author: clean(&incoming.author),
        summary: clean(&incoming.summary),
        content: clean(&incoming.content),
        published_at: kept(incoming.published_at),
        updated_at: kept(incoming.updated_at),
        sort_at: time(sort_at),
        received_at: time(target.now),
        is_read: false,
        is_starred: false,
        categories: incoming.categories.iter().map(|category| text(category).into_owned()).collect(),
        enclosures: incoming.enclosures.iter().map(file).collect(),
    }
}
