//! How polls ended, each guarded by its lease: feed, owner and fence. A lease that ran out but that nobody else has
//! taken is still good.
//!
//! Each result is a job of its own, so that one that cannot be stored costs no other, and so that beats come in between.

use domain::{
    AccountId, FeedId,
    delivery::DomainEvent,
    feed_state::{FeedAddress, Standing},
    found_by::FoundBy,
    ingest::{PollOutcome, PollResult, Stored},
    ports::StoreResult,
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    SqliteStore,
    entries::ingest,
    feeds::finish_plain,
    outbox::events,
    push::discovery::PushState,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::target::Target;
use crate::values::{is_renamed, optional, text, to_u32};

pub(crate) const HELD: &str = include_str!("sql/finish_held.sql");

/// Two are enough to know that it is shared.
const FOLLOWERS: &str = "SELECT account_id FROM follows WHERE feed_id = ? LIMIT 2";

const MOVE: &str = include_str!("sql/finish_move.sql");

pub(crate) async fn finish(store: &SqliteStore, results: Vec<PollResult>) -> StoreResult<Vec<StoreResult<Stored>>> {
    let prepared = results.into_iter().map(|mut result| {
        if let PollOutcome::Fetched(document) = &mut result.outcome {
            ingest::prepare(document);
        }
        move |changes: &mut WriteTx<'_>| finish_one(changes, result)
    });
    store.writer.write_all(Priority::Usual, prepared).await
}

fn finish_one(changes: &mut WriteTx<'_>, mut result: PollResult) -> Result<Stored> {
    let (connection, now, feed_id) = (changes.connection, changes.now(), result.feed_id.0);
    let mut held = connection.prepare_cached(HELD)?;
    let guard = (feed_id, &result.lease.owner, result.lease.fence);
    let held = held.query_row(guard, |row| {
        let title: Option<String> = row.get(0)?;
        Ok((title, push_state_of(row)?, standing_of(row)?, row.get(10)?))
    });
    let Some((title, mut push, standing, is_backlog)) = held.optional()? else {
        return Ok(Stored::default());
    };
    if let Some(address) = &result.moved_to
        && move_to(connection, result.feed_id, address)?
    {
        push.url = text(&address.url).into_owned();
        changes.log.feed(result.feed_id);
    }
    let claimed_at = result.claimed_at.as_millisecond();
    let target = Target { feed_id, claimed_at, is_backlog, now, trace: result.trace() };
    let change = standing.after(&result);
    if let Some(kind) = change.event {
        changes.log.feed(result.feed_id);
        events::record(changes, &[DomainEvent::Feed(kind, result.feed_id)])?;
    }
    match &mut result.outcome {
        PollOutcome::Fetched(document) => {
            if is_renamed(document.title.as_ref(), title.as_deref()) {
                changes.log.feed(result.feed_id);
            }
            return ingest::store_document(changes, target, change, &push, document);
        }
        PollOutcome::Unchanged(validators) => finish_plain::write_unchanged(connection, target, change, validators)?,
        PollOutcome::Failed(reason) | PollOutcome::Gone(reason) => {
            finish_plain::write_failure(connection, target, change, reason)?;
        }
    }
    changes.figures.poll_without_document(&result.outcome);
    Ok(Stored { applied: true, ..Stored::default() })
}

fn standing_of(row: &Row<'_>) -> Result<Standing> {
    Ok(Standing { failure_count: to_u32(row.get(7)?), is_failing: row.get(8)?, is_gone: row.get(9)? })
}

fn push_state_of(row: &Row<'_>) -> Result<PushState> {
    Ok(PushState {
        url: row.get(1)?,
        is_enabled: row.get(2)?,
        hubs: row.get(3)?,
        topic: row.get(4)?,
        is_pushed: row.get(5)?,
        has_subscriptions: row.get(6)?,
    })
}

/// Unless another feed is there already, or it must stay. Returns whether it has moved.
fn move_to(connection: &Connection, feed: FeedId, address: &FeedAddress) -> Result<bool> {
    let mut followers = connection.prepare_cached(FOLLOWERS)?;
    let followers = followers.query_map([feed.0], |row| row.get(0).map(AccountId))?.collect::<Result<Vec<_>>>()?;
    let Some(found) = FoundBy::after_move(address, &followers) else { return Ok(false) };
    let in_the_way = found.in_the_way(address).map(|other| other.hash(&address.url).0);
    if connection.prepare_cached("SELECT 1 FROM feeds WHERE url_hash IN (?, ?)")?.exists(in_the_way)? {
        return Ok(false);
    }
    let credentials = optional(address.credentials.as_ref());
    let row = (feed.0, text(&address.url), found.hash(&address.url).0, credentials);
    connection.prepare_cached(MOVE)?.execute(row).map(|moved| moved > 0)
}
