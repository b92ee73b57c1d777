//! Claims of deliveries.
//!
//! A claim reads what is due of each webhook, from the start of its range in the index and no further than its turn
//! comes, and only then writes leases. What a webhook has waiting beyond that costs nothing.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use domain::{
    DeliveryId, EventId, Lease, WebhookId,
    delivery::{BROKEN_AFTER, ClaimRoom, Claimed, DeliveryJob, EventType, PAYLOAD_INLINE_MAX, public_id},
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use super::{delivery_leases::held_until, webhooks, writer::Changes};
use crate::values::{millis, small, time, total};

/// Who may be sent something, and when the first of what waits for each is due.
pub(super) const WAITING: &str = "
SELECT id, failures, probe_at, (
    SELECT next_attempt_at
    FROM deliveries INDEXED BY deliveries_due
    WHERE webhook_id = webhooks.id
      AND status = 'pending'
    ORDER BY next_attempt_at
    LIMIT 1
)
FROM webhooks
WHERE enabled = 1
  AND deleted_at IS NULL";

pub(super) const DUE: &str = "
SELECT next_attempt_at, id, event_id, attempts, lease_fence
FROM deliveries INDEXED BY deliveries_due
WHERE webhook_id = ?1
  AND status = 'pending'
  AND next_attempt_at <= ?2
  AND lease_until <= ?2
  AND (next_attempt_at, id) > (?4, ?5)
ORDER BY next_attempt_at, id
LIMIT ?3";

/// Of those due last, the one that was tried least: what is due for longest may be just what the receiver refuses.
pub(super) const PROBE: &str = "
SELECT next_attempt_at, id, event_id, attempts, lease_fence
FROM (
    SELECT *
    FROM deliveries INDEXED BY deliveries_due
    WHERE webhook_id = ?1
      AND status = 'pending'
      AND next_attempt_at <= ?2
      AND lease_until <= ?2
      AND (next_attempt_at, id) > (?4, ?5)
    ORDER BY next_attempt_at DESC, id DESC
    LIMIT 100
)
ORDER BY logged, id DESC
LIMIT ?3";

pub(super) const CLAIM: &str = "
UPDATE deliveries
SET lease_owner = ?2,
    lease_until = ?3,
    lease_fence = ?4
WHERE id = ?1";

pub(super) const EVENT: &str = "
SELECT type, created_at, size, iif(size <= ?2, data, NULL)
FROM events
WHERE id = ?1";

/// A delivery whose event nobody can read can never be sent.
const SET_ASIDE: &str = "
UPDATE deliveries
SET status = 'failed',
    last_error = 'its event is gone',
    ended_at = ?2,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1";

/// A webhook for which something waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) webhook: WebhookId,
    pub(super) failures: u32,
    pub(super) probe_at: Option<i64>,
    /// When the first is due.
    pub(super) first_at: i64,
}

impl Waiting {
    /// Then only probes are sent.
    pub(super) fn is_broken(&self) -> bool {
        self.failures >= BROKEN_AFTER
    }
}

/// A delivery that can be claimed.
#[derive(Debug, Clone, Copy)]
struct Due {
    webhook: WebhookId,
    event: i64,
    attempts: u32,
    fence: i64,
    is_probe: bool,
}

/// By turn: which of its webhook's it is, when it is due, its id.
type ByTurn = BTreeMap<(usize, i64, i64), Due>;

/// A webhook with something due, and how far that was read.
#[derive(Debug)]
struct Line {
    waiting: Waiting,
    room: usize,
    after: (i64, i64),
}

pub(super) fn claim(
    changes: &mut Changes<'_>,
    key: &str,
    owner: &str,
    lease: Duration,
    room: &ClaimRoom,
) -> Result<Claimed> {
    let now = changes.now();
    let picked = pick(changes.connection, room, now)?;
    let mut claimed = Claimed::default();
    for ((.., id), due) in picked {
        let Some(mut job) = job_of(changes.connection, key, id, due)? else {
            changes.connection.prepare_cached(SET_ASIDE)?.execute((id, now))?;
            continue;
        };
        let row = (id, owner, now + millis(lease), due.fence + 1);
        changes.connection.prepare_cached(CLAIM)?.execute(row)?;
        owner.clone_into(&mut job.lease.owner);
        claimed.jobs.push(job);
    }
    let mut wanted: Vec<WebhookId> = claimed.jobs.iter().map(|job| job.webhook_id).collect();
    wanted.sort();
    wanted.dedup();
    for id in wanted {
        claimed.webhooks.extend(webhooks::one_readable(changes.connection, id, now)?);
    }
    // Those to a webhook that cannot be read come again when their leases have run out.
    let Claimed { jobs, webhooks } = &mut claimed;
    jobs.retain(|job| webhooks.iter().any(|webhook| webhook.id == job.webhook_id));
    Ok(claimed)
}

/// What is to be claimed, in order: the first of each webhook, then the second of each.
fn pick(connection: &Connection, room: &ClaimRoom, now: i64) -> Result<ByTurn> {
    let most = usize::try_from(room.limit).unwrap_or(usize::MAX);
    let mut picked = ByTurn::new();
    let mut lines = if most > 0 { lines(connection, room, now)? } else { Vec::new() };
    let mut turns = 0;
    while picked.len() < most && !lines.is_empty() {
        // No more of each than all of them can be given: the next look is for what those left over that have less.
        let share = (most - picked.len()).div_ceil(lines.len());
        for line in &mut lines {
            let first = (turns + 1, line.waiting.first_at, 0);
            if picked.len() >= most && picked.last_key_value().is_some_and(|(last, _)| *last < first) {
                break;
            }
            read_due(connection, line, turns, share, now, &mut picked)?;
            while picked.len() > most {
                picked.pop_last();
            }
        }
        turns += share;
        lines.retain(|line| line.room > 0);
    }
    Ok(picked)
}

/// Those that may be given something. Whose first is due for longest comes first: of the others, those are not looked at
/// that come too late.
fn lines(connection: &Connection, room: &ClaimRoom, now: i64) -> Result<Vec<Line>> {
    let room_of: HashMap<WebhookId, u32> = room.of.iter().copied().collect();
    let mut waiting = waiting(connection)?;
    waiting.retain(|one| one.first_at <= now && !(one.is_broken() && one.probe_at.is_some_and(|at| at > now)));
    waiting.sort_by_key(|one| (one.first_at, one.webhook));
    let line = |waiting: Waiting| {
        let room = room_of.get(&waiting.webhook).copied().unwrap_or(room.of_others);
        let room = if waiting.is_broken() { room.min(1) } else { room };
        Line { waiting, room: usize::try_from(room).unwrap_or(usize::MAX), after: (i64::MIN, i64::MIN) }
    };
    Ok(waiting.into_iter().map(line).filter(|line| line.room > 0).collect())
}

pub(super) fn waiting(connection: &Connection) -> Result<Vec<Waiting>> {
    let mut statement = connection.prepare_cached(WAITING)?;
    let mut rows = statement.query([])?;
    let mut waiting = Vec::new();
    while let Some(row) = rows.next()? {
        match waiting_of(row) {
            Ok(one) => waiting.extend(one),
            // The others are not to wait for it.
            Err(error) => tracing::error!(webhook = row.get::<_, i64>(0).ok(), %error, "a webhook cannot be read"),
        }
    }
    Ok(waiting)
}

fn waiting_of(row: &Row<'_>) -> Result<Option<Waiting>> {
    let Some(first_at) = row.get(3)? else { return Ok(None) };
    let (webhook, failures) = (WebhookId(row.get(0)?), small(row.get(1)?));
    Ok(Some(Waiting { webhook, failures, probe_at: row.get(2)?, first_at }))
}

/// Reads a webhook's next, at most so many, after so many turns. No probe goes out while anything is being sent.
fn read_due(
    connection: &Connection,
    line: &mut Line,
    turns: usize,
    share: usize,
    now: i64,
    picked: &mut ByTurn,
) -> Result<()> {
    let (webhook, is_probe) = (line.waiting.webhook, line.waiting.is_broken());
    if is_probe && held_until(connection, webhook)? > now {
        line.room = 0;
        return Ok(());
    }
    let wanted = share.min(line.room);
    let mut statement = connection.prepare_cached(if is_probe { PROBE } else { DUE })?;
    let mut rows = statement.query((webhook.0, now, total(wanted), line.after.0, line.after.1))?;
    let mut found = 0;
    while let Some(row) = rows.next()? {
        let (event, attempts, fence) = (row.get(2)?, small(row.get(3)?), row.get(4)?);
        line.after = (row.get(0)?, row.get(1)?);
        found += 1;
        picked.insert((turns + found, line.after.0, line.after.1), Due { webhook, event, attempts, fence, is_probe });
    }
    // One that has less than its share has nothing more.
    line.room = if found < wanted { 0 } else { line.room - found };
    Ok(())
}

/// All that is needed to send it but the name of who does; `None` if its event cannot be read.
fn job_of(connection: &Connection, key: &str, id: i64, due: Due) -> Result<Option<DeliveryJob>> {
    let mut statement = connection.prepare_cached(EVENT)?;
    let event = statement.query_row((due.event, total(PAYLOAD_INLINE_MAX)), |row| {
        let kind = EventType::by_name(row.get_ref(0)?.as_str()?);
        Ok((kind, row.get(1)?, row.get::<_, i64>(2)?, row.get(3)?))
    });
    let Some((Some(kind), happened_at, size, data)) = event.optional()? else { return Ok(None) };
    Ok(Some(DeliveryJob {
        id: DeliveryId(id),
        lease: Lease { owner: String::new(), fence: due.fence + 1 },
        webhook_id: due.webhook,
        event: EventId(due.event),
        event_id: public_id("evt", key, due.event),
        kind,
        happened_at: time(happened_at),
        data,
        size: usize::try_from(size).unwrap_or(0),
        attempts: due.attempts,
        is_probe: due.is_probe,
    }))
}
