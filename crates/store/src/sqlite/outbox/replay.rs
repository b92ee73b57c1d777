//! What happened since a time, queued once more for one webhook, a chunk at a time.

use domain::{
    AccountId, FeedId, FolderId, WebhookId,
    delivery::{DeliveryStatus, EventScope, EventType, Follow},
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

pub(crate) const FOLLOW: &str =
    "SELECT folder_id FROM follows WHERE feed_id = ? AND account_id = ? AND created_at <= ?";

/// The place of an event in time.
type Position = (i64, i64);

/// An event and its scope; `None` of a kind that nobody knows.
type StoredEvent = (Position, Option<EventScope>);

pub(crate) async fn replay(
    store: &SqliteStore,
    account: AccountId,
    id: WebhookId,
    since: Timestamp,
    until: Option<Timestamp>,
) -> StoreResult<Option<u64>> {
    let until = store.now().min(until.map_or(i64::MAX, Timestamp::as_millisecond));
    let (mut after, mut queued) = ((ceiling_ms(since), i64::MIN), 0);
    loop {
        let work = move |changes: &mut WriteTx<'_>| replay_some(changes, account, id, after, until);
        let Some((last, count)) = store.writer.write(Priority::Usual, work).await? else { return Ok(None) };
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
    account: AccountId,
    id: WebhookId,
    after: Position,
    until: i64,
) -> Result<Option<(Option<Position>, u64)>> {
    let (connection, now) = (changes.connection, changes.now());
    let Some(webhook) = webhooks::one(connection, account, id, now)? else { return Ok(None) };
    if !webhook.enabled {
        return Ok(Some((None, 0)));
    }
    let (mut last, mut queued) = (None, 0);
    for (place, scope) in read(connection, after, until)? {
        last = Some(place);
        let Some(scope) = scope else { continue };
        let follow = scope.feed_id.map(|feed| follow_at(connection, account, feed, place.0)).transpose()?;
        let is_repeated = webhook.replays(&scope, follow.flatten());
        queued += u64::from(is_repeated && repeat(changes, place.1, id, now)?);
    }
    Ok(Some((last, queued)))
}

/// How an account follows a feed, if it did when something happened, and does so since.
fn follow_at(connection: &Connection, account: AccountId, feed: FeedId, at: i64) -> Result<Option<Follow>> {
    let follow = connection.prepare_cached(FOLLOW)?.query_row((feed.0, account.0, at), |row| {
        Ok(Follow { folder_id: row.get::<_, Option<i64>>(0)?.map(FolderId) })
    });
    follow.optional()
}

fn read(connection: &Connection, after: Position, until: i64) -> Result<Vec<StoredEvent>> {
    connection.prepare_cached(EVENTS)?.query_map((after.0, after.1, until, CHUNK), known_of)?.collect()
}

fn known_of(row: &Row<'_>) -> Result<StoredEvent> {
    let scope = |kind| -> Result<EventScope> {
        Ok(EventScope {
            kind,
            feed_id: row.get::<_, Option<i64>>(3)?.map(FeedId),
            account_id: row.get::<_, Option<i64>>(4)?.map(AccountId),
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
