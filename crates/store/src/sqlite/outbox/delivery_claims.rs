//! Claims of deliveries.
//!
//! A webhook has two queues: rows that were never tried, and rows that were. A claim reads what is due of each from its
//! start, and no further than its turn comes, and only then writes leases. What a webhook has waiting beyond that costs
//! nothing.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use domain::{
    DeliveryId, EventId, FolderId, Lease, WebhookId,
    delivery::{
        ClaimLimits, Claimed, DeliveryJob, EventType, FollowerView, PAYLOAD_INLINE_MAX, PROBE_NEW_AFTER,
        PROBES_A_ROUND, Rate, public_id,
    },
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    outbox::{delivery_leases::leased_until, webhooks},
    shared::writer::WriteTx,
};
use crate::values::{DUE_FIRST_MS, millis, time, to_u32, usize_to_i64};

pub(crate) const WAITING: &str = include_str!("sql/delivery_claims_waiting.sql");

/// The event is of a type that this version knows (4), or gone: then the delivery is set aside.
macro_rules! of_known_type {
    () => {
        "NOT EXISTS (
      SELECT 1
      FROM events
      WHERE events.id = event_id
        AND type NOT IN (SELECT value FROM json_each(?4))
  )"
    };
}
pub(crate) use of_known_type;

/// What is due in one queue of a webhook (1, 2) now (3), free, and of an event that this version knows.
macro_rules! due {
    ($rest:literal) => {
        concat!(
            "
SELECT next_attempt_at, id, event_id, attempts, logged, lease_fence
FROM deliveries INDEXED BY deliveries_due
WHERE webhook_id = ?1
  AND is_tried = ?2
  AND status = 'pending'
  AND next_attempt_at <= ?3
  -- 60000: clock::LEASE_SLACK_MS.
  AND NOT (lease_until > ?3 AND lease_until <= ?3 + lease_ms + 60000)
  AND ",
            of_known_type!(),
            $rest
        )
    };
}

pub(crate) const DUE: &str = due!(
    "
  AND (next_attempt_at, id) > (?6, ?7)
ORDER BY next_attempt_at, id
LIMIT ?5"
);

/// From the other end.
pub(crate) const DUE_LAST: &str = due!(
    "
ORDER BY next_attempt_at DESC, id DESC
LIMIT ?5"
);

pub(crate) const CLAIM: &str = include_str!("sql/delivery_claims_claim.sql");

/// So many requests more are taken of a webhook's rate.
const TAKE_RATE: &str = "UPDATE webhooks SET rate_at = max(rate_at, ?2) + ?3 WHERE id = ?1";

pub(crate) const EVENT: &str = include_str!("sql/delivery_claims_event.sql");

const SET_ASIDE: &str = include_str!("sql/delivery_claims_set_aside.sql");

/// Rows at each end of what is due that a probe is chosen of.
const PROBE_CHOICE: usize = 100;

/// A webhook's open breaker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    probe_at: i64,
    probe_new_at: i64,
    probes: u32,
}

impl Open {
    /// It is never further away than such a wait is long, unless a clock went back.
    fn probe_new_at(&self, now: i64) -> i64 {
        if self.probe_new_at > now + millis(PROBE_NEW_AFTER) { now } else { self.probe_new_at }
    }
}

/// A webhook for which something waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) webhook: WebhookId,
    pub(crate) breaker: Option<Open>,
    held_until: i64,
    /// Its rate, and up to when that is taken.
    rate: Option<(Rate, f64)>,
    /// When the first row is due that was never tried.
    pub(crate) new_at: Option<i64>,
    /// When the first is due that was tried before.
    pub(crate) tried_at: Option<i64>,
}

impl Waiting {
    /// When one can be claimed, if the first free rows of the queues are due then.
    pub(crate) fn ready_at(&self, new_at: Option<i64>, tried_at: Option<i64>, now: i64) -> Option<i64> {
        let (new_at, tried_at) = match self.breaker {
            None => (new_at, tried_at),
            Some(open) => (new_at.map(|at| at.max(open.probe_new_at(now))), tried_at.map(|at| at.max(open.probe_at))),
        };
        let at = new_at.into_iter().chain(tried_at).min()?;
        let rate_at = self.rate.map_or(0, |(rate, taken_at)| now + millis(rate.ready_in(taken(taken_at, now))));
        Some(at.max(self.held_until).max(rate_at))
    }

    /// How many may be claimed now.
    fn allowed(&self, given: u32, now: i64) -> u32 {
        let given = if self.breaker.is_some() { given.min(1) } else { given };
        self.rate.map_or(given, |(rate, taken_at)| given.min(rate.allowed(taken(taken_at, now))))
    }
}

/// How many milliseconds from now on are taken of a rate.
#[expect(clippy::cast_precision_loss, reason = "milliseconds are exact for the next 285,000 years")]
fn taken(taken_at: f64, now: i64) -> f64 {
    taken_at - now as f64
}

/// A delivery that can be claimed.
#[derive(Debug, Clone, Copy)]
struct Due {
    webhook: WebhookId,
    event: i64,
    attempts: u32,
    tries: u32,
    fence: i64,
    is_probe: bool,
}

/// By turn: which of its webhook's it is, when it is due, its id.
type ByTurn = BTreeMap<(usize, i64, i64), Due>;

/// A place in a queue: when due, and the row.
type Position = (i64, i64);

/// Before every row.
const START: Position = (i64::MIN, i64::MIN);

/// A webhook with something due, and how far its queues were read.
#[derive(Debug)]
struct WebhookScan {
    waiting: Waiting,
    rows_left: usize,
    retries_first: bool,
    /// Of rows that were never tried, and of those that were.
    after: [Position; 2],
}

/// What all looks of one claim have in common.
#[derive(Debug)]
struct Look<'c> {
    connection: &'c Connection,
    now: i64,
    /// The types of events that this version knows, as JSON.
    known: String,
}

pub(crate) fn claim(
    changes: &mut WriteTx<'_>,
    key: &str,
    owner: &str,
    lease: Duration,
    limits: &ClaimLimits,
) -> Result<Claimed> {
    let now = changes.now();
    let look = Look { connection: changes.connection, now, known: known_types() };
    let mut claimed = Claimed::default();
    let (looked_at, picked) = look.pick(limits)?;
    for ((.., id), due) in picked {
        let Some(mut job) = job_of(changes.connection, key, id, due)? else {
            changes.connection.prepare_cached(SET_ASIDE)?.execute((id, now))?;
            continue;
        };
        let row = (id, owner, now, millis(lease), due.fence + 1);
        changes.connection.prepare_cached(CLAIM)?.execute(row)?;
        owner.clone_into(&mut job.lease.owner);
        claimed.jobs.push(job);
    }
    take_rates(changes.connection, &looked_at, &claimed, now)?;
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

/// The types of events that this version knows, as JSON.
pub(crate) fn known_types() -> String {
    serde_json::Value::from(EventType::ALL.map(EventType::name).to_vec()).to_string()
}

fn take_rates(connection: &Connection, looked_at: &[Waiting], claimed: &Claimed, now: i64) -> Result<()> {
    for (webhook, rate) in looked_at.iter().filter_map(|one| Some((one.webhook, one.rate?.0))) {
        let count = claimed.jobs.iter().filter(|job| job.webhook_id == webhook).count();
        if let Ok(count @ 1..) = u32::try_from(count) {
            let taken_ms = f64::from(count) * rate.spacing_ms();
            connection.prepare_cached(TAKE_RATE)?.execute((webhook.0, now, taken_ms))?;
        }
    }
    Ok(())
}

impl Look<'_> {
    /// What is to be claimed, in order: the first of each webhook, then the second of each; and who was looked at.
    fn pick(&self, limits: &ClaimLimits) -> Result<(Vec<Waiting>, ByTurn)> {
        let most = usize::try_from(limits.limit).unwrap_or(usize::MAX);
        let mut picked = ByTurn::new();
        let mut scans = if most > 0 { self.scans(limits)? } else { Vec::new() };
        let looked_at = scans.iter().map(|scan| scan.waiting).collect();
        let mut turns = 0;
        while picked.len() < most && !scans.is_empty() {
            // No more of each than all of them can be given: the next look is for what those left over that have less.
            let share = (most - picked.len()).div_ceil(scans.len());
            for scan in &mut scans {
                let first_at = scan.waiting.new_at.into_iter().chain(scan.waiting.tried_at).min().unwrap_or(i64::MAX);
                let first = (turns + 1, first_at, 0);
                if picked.len() >= most && picked.last_key_value().is_some_and(|(last, _)| *last < first) {
                    break;
                }
                self.read_due(scan, turns, share, &mut picked)?;
                while picked.len() > most {
                    picked.pop_last();
                }
            }
            turns += share;
            scans.retain(|scan| scan.rows_left > 0);
        }
        Ok((looked_at, picked))
    }

    /// Those that may be given something. Whose first is due for longest comes first: of the others, those are not looked
    /// at that come too late.
    fn scans(&self, limits: &ClaimLimits) -> Result<Vec<WebhookScan>> {
        let given_to: HashMap<WebhookId, u32> = limits.of.iter().copied().collect();
        let mut waiting = waiting(self.connection)?;
        waiting.retain(|one| one.ready_at(one.new_at, one.tried_at, self.now).is_some_and(|at| at <= self.now));
        waiting.sort_by_key(|one| (one.new_at.into_iter().chain(one.tried_at).min(), one.webhook));
        let scan = |waiting: Waiting| {
            let given = given_to.get(&waiting.webhook).copied().unwrap_or(limits.of_others);
            let retries_first = limits.retries_first.contains(&waiting.webhook);
            let rows_left = usize::try_from(waiting.allowed(given, self.now)).unwrap_or(usize::MAX);
            WebhookScan { waiting, rows_left, retries_first, after: [START; 2] }
        };
        Ok(waiting.into_iter().map(scan).filter(|scan| scan.rows_left > 0).collect())
    }

    /// Reads a webhook's next, at most so many, after so many turns: one of each queue by turns.
    fn read_due(&self, scan: &mut WebhookScan, turns: usize, share: usize, picked: &mut ByTurn) -> Result<()> {
        if let Some(open) = scan.waiting.breaker {
            scan.rows_left = 0;
            if let Some((place, due)) = self.probe(scan.waiting.webhook, open)? {
                picked.insert((turns + 1, place.0, place.1), Due { is_probe: true, ..due });
            }
            return Ok(());
        }
        let wanted = share.min(scan.rows_left);
        let (new, tried) = (self.due(scan, false, wanted)?, self.due(scan, true, wanted)?);
        let mut found = in_turns(new, tried, scan.retries_first);
        // Tests go before all else.
        found.sort_by_key(|((due_at, _), _)| *due_at != DUE_FIRST_MS);
        found.truncate(wanted);
        for (turn, (place, due)) in (turns + 1..).zip(&found) {
            scan.after[usize::from(due.tries > 0)] = *place;
            picked.insert((turn, place.0, place.1), *due);
        }
        scan.retries_first = found.last().map_or(scan.retries_first, |(_, due)| due.tries == 0);
        // One that has less than its share has nothing more.
        scan.rows_left = if found.len() < wanted { 0 } else { scan.rows_left - found.len() };
        Ok(())
    }

    fn due(&self, scan: &WebhookScan, is_tried: bool, wanted: usize) -> Result<Vec<(Position, Due)>> {
        let (webhook, after) = (scan.waiting.webhook, scan.after[usize::from(is_tried)]);
        let is_due = |at: Option<i64>| at.is_some_and(|at| at <= self.now);
        if !is_due(if is_tried { scan.waiting.tried_at } else { scan.waiting.new_at }) {
            return Ok(Vec::new());
        }
        self.first(webhook, is_tried, after, wanted)
    }

    /// The row that is sent to a receiver whose breaker is open; none while anything is being sent to it.
    fn probe(&self, webhook: WebhookId, open: Open) -> Result<Option<(Position, Due)>> {
        if leased_until(self.connection, webhook, self.now)? > self.now {
            return Ok(None);
        }
        if open.probe_new_at(self.now) <= self.now {
            let test = self.first(webhook, false, START, 1)?.pop().filter(|((due_at, _), _)| *due_at == DUE_FIRST_MS);
            let new = if test.is_some() { test } else { self.last(webhook, false, 1)?.pop() };
            if new.is_some() {
                return Ok(new);
            }
        }
        if open.probe_at > self.now {
            return Ok(None);
        }
        let mut choice = self.last(webhook, true, PROBE_CHOICE)?;
        if choice.len() == PROBE_CHOICE {
            choice.extend(self.first(webhook, true, START, PROBE_CHOICE)?);
        }
        let is_least = open.probes % PROBES_A_ROUND == PROBES_A_ROUND - 1;
        Ok(choice.into_iter().min_by_key(|(place, due)| {
            let tries = i64::from(due.tries);
            (if is_least { tries } else { -tries }, *place)
        }))
    }

    /// So many of what is due in a queue after a place, the longest due first.
    fn first(
        &self,
        webhook: WebhookId,
        is_tried: bool,
        after: Position,
        wanted: usize,
    ) -> Result<Vec<(Position, Due)>> {
        let mut statement = self.connection.prepare_cached(DUE)?;
        let values = (webhook.0, is_tried, self.now, &self.known, usize_to_i64(wanted), after.0, after.1);
        statement.query_map(values, |row| due_of(row, webhook))?.collect()
    }

    /// So many of what is due in a queue, from its other end.
    fn last(&self, webhook: WebhookId, is_tried: bool, wanted: usize) -> Result<Vec<(Position, Due)>> {
        let mut statement = self.connection.prepare_cached(DUE_LAST)?;
        let values = (webhook.0, is_tried, self.now, &self.known, usize_to_i64(wanted));
        statement.query_map(values, |row| due_of(row, webhook))?.collect()
    }
}

/// One of each by turns, and what is left of the longer.
fn in_turns<T>(new: Vec<T>, tried: Vec<T>, retries_first: bool) -> Vec<T> {
    let (mut first, mut second) = if retries_first { (tried, new) } else { (new, tried) };
    let mut turns = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.drain(..), second.drain(..));
    loop {
        let (one, other) = (first.next(), second.next());
        if one.is_none() && other.is_none() {
            break;
        }
        turns.extend(one.into_iter().chain(other));
    }
    turns
}

fn due_of(row: &Row<'_>, webhook: WebhookId) -> Result<(Position, Due)> {
    let (attempts, tries) = (to_u32(row.get(3)?), to_u32(row.get(4)?));
    let due = Due { webhook, event: row.get(2)?, attempts, tries, fence: row.get(5)?, is_probe: false };
    Ok(((row.get(0)?, row.get(1)?), due))
}

pub(crate) fn waiting(connection: &Connection) -> Result<Vec<Waiting>> {
    let mut statement = connection.prepare_cached(WAITING)?;
    let mut rows = statement.query([])?;
    let mut waiting = Vec::new();
    while let Some(row) = rows.next()? {
        match waiting_of(row) {
            Ok(one) => waiting.extend(one),
            // The others are not to wait for it.
            Err(error) => tracing::error!(webhook_id = row.get::<_, i64>(0).ok(), %error, "webhook unreadable"),
        }
    }
    Ok(waiting)
}

fn waiting_of(row: &Row<'_>) -> Result<Option<Waiting>> {
    let (new_at, tried_at): (Option<i64>, Option<i64>) = (row.get(7)?, row.get(8)?);
    if new_at.is_none() && tried_at.is_none() {
        return Ok(None);
    }
    let probes = to_u32(row.get(3)?);
    let open = |probe_at, probe_new_at: Option<i64>| Open { probe_at, probe_new_at: probe_new_at.unwrap_or(0), probes };
    let (probe_at, probe_new_at) = (row.get::<_, Option<i64>>(1)?, row.get(2)?);
    let (rate, rate_at) = (row.get::<_, Option<i64>>(5)?.and_then(Rate::from_thousandths), row.get(6)?);
    Ok(Some(Waiting {
        webhook: WebhookId(row.get(0)?),
        breaker: probe_at.map(|probe_at| open(probe_at, probe_new_at)),
        held_until: row.get::<_, Option<i64>>(4)?.unwrap_or(0),
        rate: rate.map(|rate| (rate, rate_at)),
        new_at,
        tried_at,
    }))
}

/// All that is needed to send it but the name of who does; `None` if its event cannot be read.
fn job_of(connection: &Connection, key: &str, id: i64, due: Due) -> Result<Option<DeliveryJob>> {
    let mut statement = connection.prepare_cached(EVENT)?;
    let event = statement.query_row((due.event, usize_to_i64(PAYLOAD_INLINE_MAX), due.webhook.0), |row| {
        let kind = EventType::by_name(row.get_ref(0)?.as_str()?);
        Ok((kind, row.get(1)?, row.get::<_, i64>(2)?, row.get(3)?, row.get(4)?, view_of(row)?, row.get(9)?))
    });
    let Some((Some(kind), happened_at, size, data, feed, view, nonce)) = event.optional()? else { return Ok(None) };
    Ok(Some(DeliveryJob {
        id: DeliveryId(id),
        lease: Lease { owner: String::new(), fence: due.fence + 1 },
        webhook_id: due.webhook,
        event: EventId(due.event),
        event_id: public_id("evt", key, due.event, nonce),
        kind,
        happened_at: time(happened_at),
        feed,
        view,
        data,
        size: usize::try_from(size).unwrap_or(0),
        attempts: due.attempts,
        tries: due.tries,
        is_probe: due.is_probe,
    }))
}

fn view_of(row: &Row<'_>) -> Result<FollowerView> {
    Ok(FollowerView {
        custom_title: row.get(5)?,
        folder_id: row.get::<_, Option<i64>>(6)?.map(FolderId),
        is_read: row.get::<_, Option<bool>>(7)?.unwrap_or(false),
        is_starred: row.get::<_, Option<bool>>(8)?.unwrap_or(false),
    })
}
