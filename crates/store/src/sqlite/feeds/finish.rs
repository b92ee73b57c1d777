//! How polls ended, each guarded by its lease: feed, owner and fence. A lease that ran out but that nobody else has
//! taken is still good.
//!
//! Each result is a job of its own, so that one that cannot be stored costs no other, and so that beats come in between.

use domain::{
    FeedId,
    delivery::{DomainEvent, EventType},
    feed_state::{FeedAddress, Standing},
    ingest::{PollOutcome, PollResult, Stored, Validators},
    ports::StoreResult,
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    SqliteStore,
    entries::ingest::{self, Schedule, Target},
    feeds::id_of,
    outbox::events,
    push::discovery::PushState,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{millis, optional, text, to_u32, url_hash};

pub(crate) const HELD: &str = "
SELECT folder_id, url, push_enabled, hubs, topic_url, is_pushed,
       EXISTS (SELECT 1 FROM subscriptions WHERE feed_id = feeds.id), failure_count, is_failing, is_gone,
       last_fetched_at IS NULL
FROM feeds
WHERE id = ?
  AND lease_owner = ?
  AND lease_fence = ?";

/// A claim takes the wish for a poll away: one that is there came later, and is not put off.
const UNCHANGED: &str = "
UPDATE feeds
SET etag = ?2,
    last_modified = ?3,
    body_hash = ?4,
    last_fetched_at = ?5,
    next_check_at = min(iif(is_pushed, ?7, ?6), iif(poll_wanted_at > 0, next_check_at, 9223372036854775807)),
    adaptive_secs = ?8,
    failure_count = 0,
    last_error = NULL,
    is_failing = 0,
    is_gone = 0,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1";

const FAILED: &str = "
UPDATE feeds
SET next_check_at = min(?2, iif(poll_wanted_at > 0, next_check_at, 9223372036854775807)),
    adaptive_secs = ?3,
    failure_count = max(failure_count + ?7, 1),
    last_error = ?4,
    is_gone = is_gone OR ?5,
    is_failing = is_failing OR ?6,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1";

const MOVE: &str = "
UPDATE feeds
SET url = ?2,
    url_hash = ?3,
    credentials = ?4
WHERE id = ?1";

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
    let held = held.query_row(guard, |row| Ok((row.get(0)?, push_state_of(row)?, standing_of(row)?))).optional()?;
    let Some((folder_id, mut push, standing)) = held else { return Ok(Stored::default()) };
    if let Some(address) = &result.moved_to
        && move_to(connection, result.feed_id, address)?
    {
        push.url = text(&address.url).into_owned();
    }
    let claimed_at = result.claimed_at.as_millisecond();
    let target = Target { feed_id, folder_id, claimed_at, is_backlog: standing.is_new, now };
    let due_by = result.due_by.map_or(i64::MAX, Timestamp::as_millisecond);
    let schedule = Schedule {
        next_check_at: due_by.min(now + millis(result.next_check_in)),
        next_audit_at: due_by.min(now + millis(result.next_audit_in)),
        adaptive_secs: i64::from(result.adaptive_secs),
    };
    let counts = result.due_by.is_none();
    let news = standing.news(&result);
    if let Some(kind) = news {
        events::tell(changes, &[DomainEvent::Feed(kind, result.feed_id)])?;
    }
    match &mut result.outcome {
        PollOutcome::Fetched(document) => {
            return ingest::store_document(changes, target, schedule, &push, document);
        }
        PollOutcome::Unchanged(validators) => write_unchanged(connection, target, schedule, validators)?,
        PollOutcome::Failed(reason) => {
            let is_failing = news == Some(EventType::FeedFailing);
            write_failure(connection, target, schedule, reason, (false, is_failing, counts))?;
        }
        PollOutcome::Gone(reason) => write_failure(connection, target, schedule, reason, (true, false, counts))?,
    }
    Ok(Stored { applied: true, ..Stored::default() })
}

fn standing_of(row: &Row<'_>) -> Result<Standing> {
    Ok(Standing {
        failure_count: to_u32(row.get(7)?),
        is_failing: row.get(8)?,
        is_gone: row.get(9)?,
        is_new: row.get(10)?,
    })
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

/// Unless another feed is there already. Returns whether it has moved.
fn move_to(connection: &Connection, feed: FeedId, address: &FeedAddress) -> Result<bool> {
    if id_of(connection, address)?.is_some() {
        return Ok(false);
    }
    let row = (feed.0, text(&address.url), url_hash(address), optional(address.credentials.as_ref()));
    connection.prepare_cached(MOVE)?.execute(row).map(|moved| moved > 0)
}

fn write_unchanged(connection: &Connection, target: Target, schedule: Schedule, validators: &Validators) -> Result<()> {
    let row = (
        target.feed_id,
        optional(validators.etag.as_ref()),
        optional(validators.last_modified.as_ref()),
        validators.body_hash.map(|hash| hash.0),
        target.now,
        schedule.next_check_at,
        schedule.next_audit_at,
        schedule.adaptive_secs,
    );
    connection.prepare_cached(UNCHANGED)?.execute(row).map(drop)
}

fn write_failure(
    connection: &Connection,
    target: Target,
    schedule: Schedule,
    reason: &str,
    (is_gone, is_failing, counts): (bool, bool, bool),
) -> Result<()> {
    let Schedule { next_check_at, adaptive_secs, .. } = schedule;
    let row = (target.feed_id, next_check_at, adaptive_secs, text(reason), is_gone, is_failing, counts);
    connection.prepare_cached(FAILED)?.execute(row).map(drop)
}
