//! What happened since a time, queued once more for one webhook, a chunk at a time.

use domain::{
    FeedId, FolderId, WebhookId,
    delivery::{DeliveryStatus, EventScope, EventType},
    ports::StoreResult,
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    SqliteStore,
    outbox::{delivery_moves::requeue_row, events, webhooks},
    shared::{errors::unreadable, queue::Priority, writer::WriteTx},
};
use crate::values::{ceiling_ms, status_of};

/// Events in one transaction.
const CHUNK: u32 = 500;

pub(crate) const EVENTS: &str = include_str!("sql/replay_events.sql");

pub(crate) const DELIVERY: &str = include_str!("sql/replay_delivery.sql");

/// The place of an event in time.
type Position = (i64, i64);

/// An event and what decided who was told; `None` of a kind that nobody knows.
type StoredEvent = (Position, Option<EventScope>);

pub(crate) async fn replay(
    store: &SqliteStore,
    id: WebhookId,
    since: Timestamp,
    until: Option<Timestamp>,
) -> StoreResult<Option<u64>> {
    let until = store.now().min(until.map_or(i64::MAX, Timestamp::as_millisecond));
    let (mut after, mut queued) = ((ceiling_ms(since), i64::MIN), 0);
    loop {
        let chunk = store.writer.write(Priority::Usual, move |changes| replay_some(changes, id, after, until)).await?;
        let Some((last, count)) = chunk else { return Ok(None) };
        queued += count;
        match last {
            Some(last) => after = last,
            None => return Ok(Some(queued)),
        }
    }
}

/// A chunk of events after this place: the last of them, if there may be more, and how many were queued. `None` if there
/// is no such webhook.
fn replay_some(
    changes: &mut WriteTx<'_>,
    id: WebhookId,
    after: Position,
    until: i64,
) -> Result<Option<(Option<Position>, u64)>> {
    let (connection, now) = (changes.connection, changes.now());
    let Some(webhook) = webhooks::one(connection, id, now)? else { return Ok(None) };
    if !webhook.enabled {
        return Ok(Some((None, 0)));
    }
    let (mut last, mut queued) = (None, 0);
    for (place, scope) in read(connection, after, until)? {
        last = Some(place);
        let is_repeated = scope.is_some_and(|scope| webhook.replays(&scope));
        queued += u64::from(is_repeated && repeat(changes, place.1, id, now)?);
    }
    Ok(Some((last, queued)))
}

fn read(connection: &Connection, after: Position, until: i64) -> Result<Vec<StoredEvent>> {
    connection.prepare_cached(EVENTS)?.query_map((after.0, after.1, until, CHUNK), known_of)?.collect()
}

fn known_of(row: &Row<'_>) -> Result<StoredEvent> {
    let scope = |kind| -> Result<EventScope> {
        Ok(EventScope {
            kind,
            feed_id: row.get::<_, Option<i64>>(3)?.map(FeedId),
            folder_id: row.get::<_, Option<i64>>(4)?.map(FolderId),
            webhook_id: row.get::<_, Option<i64>>(5)?.map(WebhookId),
            is_backlog: row.get(6)?,
        })
    };
    let kind = EventType::by_name(row.get_ref(2)?.as_str()?);
    Ok(((row.get(0)?, row.get(1)?), kind.map(scope).transpose()?))
}

/// Queues an event for a webhook, unless it is pending. Returns whether it was.
fn repeat(changes: &mut WriteTx<'_>, event: i64, webhook: WebhookId, now: i64) -> Result<bool> {
    let known = changes.connection.prepare_cached(DELIVERY)?.query_row((event, webhook.0), |row| {
        let status = status_of(row.get_ref(1)?.as_str()?).map_err(|error| unreadable(1, error))?;
        Ok((row.get(0)?, status))
    });
    match known.optional()? {
        Some((_, DeliveryStatus::Pending)) => return Ok(false),
        Some((id, _)) => requeue_row(changes, id, now)?,
        None => drop(events::queue_one(changes, event, webhook, now)?),
    }
    Ok(true)
}
