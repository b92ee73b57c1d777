//! The rows of feeds whose poll brought no document, written: most polls end so, and all of a kind are one statement.
//!
//! What they mean is decided by [`Standing::after`], on the standing that each feed has. The statement is guarded by the
//! lease and by that standing: a feed that stands otherwise by now is left to whoever holds its lock (`finish`). Nearly
//! all unchanged feeds are well, so for those this is taken for granted, and nothing is read.
//!
//! What is to be sent to webhooks takes a transaction, and is left to `finish`, too.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{Client, GenericClient};
use domain::{
    Lease,
    feed_state::{FeedStateChange, Standing},
    figures::Series,
    ingest::{PollOutcome, PollResult, Stored, Validators},
    ports::StoreResult,
};
use jiff::Timestamp;
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params,
    feeds::polls,
    query,
    shared::{
        errors::store_error,
        values::{millis, optional, text, to_u32},
    },
};

const STANDING: &str = include_str!("sql/finish_plain_standing.sql");

const UNCHANGED: &str = include_str!("sql/finish_plain_unchanged.sql");

const FAILED: &str = include_str!("sql/finish_plain_failed.sql");

/// A result, the standing of its feed, and what is decided on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decided<'r> {
    result: &'r PollResult,
    before: Standing,
    change: FeedStateChange,
}

impl<'r> Decided<'r> {
    pub(crate) fn new(result: &'r PollResult, before: Standing) -> Self {
        Self { result, before, change: before.after(result) }
    }
}

/// Stores what can be stored without a transaction. The others are left as they are: `None`.
pub(crate) async fn finish(client: &Client, results: &[PollResult], stored: &mut [Option<StoreResult<Stored>>]) {
    let places: Vec<usize> = (0..results.len()).filter(|&place| is_plain(&results[place])).collect();
    let unchanged: Vec<(usize, Decided<'_>)> = (places.iter().filter(|&&place| is_unchanged(&results[place])))
        .map(|&place| (place, Decided::new(&results[place], Standing::default())))
        .collect();
    write_each_kind(client, &unchanged, stored).await;
    let rest: Vec<usize> = places.into_iter().filter(|&place| stored[place].is_none()).collect();
    let given: Vec<&PollResult> = rest.iter().map(|&place| &results[place]).collect();
    let standings = match standings(client, &given).await {
        Ok(standings) => standings,
        Err(error) => {
            let error = store_error(error);
            for place in rest {
                stored[place] = Some(Err(error.clone()));
            }
            return;
        }
    };
    let decided = rest.into_iter().filter_map(|place| {
        let standing = standings.get(&results[place].feed_id.0)?;
        Some((place, Decided::new(&results[place], *standing)))
    });
    let silent: Vec<(usize, Decided<'_>)> = decided.filter(|(_, decided)| decided.change.event.is_none()).collect();
    write_each_kind(client, &silent, stored).await;
}

fn is_plain(result: &PollResult) -> bool {
    result.moved_to.is_none() && !matches!(result.outcome, PollOutcome::Fetched(_))
}

fn is_unchanged(result: &PollResult) -> bool {
    matches!(result.outcome, PollOutcome::Unchanged(_))
}

/// How the feeds of these results stand, if the leases are still good. Nothing is locked.
async fn standings(client: &Client, given: &[&PollResult]) -> Result<HashMap<i64, Standing>, Error> {
    if given.is_empty() {
        return Ok(HashMap::new());
    }
    let (ids, owners, fences) = polls::columns_of(given.iter().map(|result| (result.feed_id.0, &result.lease)));
    let rows = query(client, STANDING, &[&ids, &owners, &fences]).await?;
    Ok(rows.iter().map(|row| (row.get(0), standing_of(row, 1))).collect())
}

/// From the columns that begin at this place.
pub(crate) fn standing_of(row: &Row, at: usize) -> Standing {
    Standing { failure_count: to_u32(row.get(at)), is_failing: row.get(at + 1), is_gone: row.get(at + 2) }
}

/// Results of one kind in one statement; if that fails, each by itself, so that only the bad one is lost.
async fn write_each_kind(
    client: &Client,
    decided: &[(usize, Decided<'_>)],
    stored: &mut [Option<StoreResult<Stored>>],
) {
    let is_unchanged = |one: &&(usize, Decided<'_>)| is_unchanged(one.1.result);
    let (unchanged, failed): (Vec<_>, Vec<_>) = decided.iter().partition(is_unchanged);
    for of_kind in [unchanged, failed] {
        let given: Vec<Decided<'_>> = of_kind.iter().map(|(_, decided)| *decided).collect();
        let outcomes = write_or_split(client, &given).await;
        for ((place, _), outcome) in of_kind.into_iter().zip(outcomes) {
            let is_done = outcome.as_ref().map_or(true, |stored| stored.applied);
            stored[place] = is_done.then_some(outcome);
        }
    }
}

async fn write_or_split(client: &Client, given: &[Decided<'_>]) -> Vec<StoreResult<Stored>> {
    match write(client, given).await {
        Ok(stored) => stored.into_iter().map(Ok).collect(),
        Err(_) if given.len() > 1 && !client.is_closed() => {
            let mut outcomes = Vec::with_capacity(given.len());
            for one in given {
                let stored = write(client, &[*one]).await.map_err(store_error);
                outcomes.push(stored.map(|stored| stored.first().copied().unwrap_or_default()));
            }
            outcomes
        }
        Err(error) => vec![Err(store_error(error)); given.len()],
    }
}

/// Writes results without a document, all of one kind.
pub(crate) async fn write(client: &impl GenericClient, given: &[Decided<'_>]) -> Result<Vec<Stored>, Error> {
    let rows = match given.first().map(|one| &one.result.outcome) {
        None | Some(PollOutcome::Fetched(_)) => return Ok(Vec::new()),
        Some(PollOutcome::Unchanged(_)) => write_unchanged(client, given).await?,
        Some(PollOutcome::Failed(_) | PollOutcome::Gone(_)) => write_failures(client, given).await?,
    };
    let mut applied: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    let stored = |one: &Decided<'_>| Stored { applied: applied.remove(&one.result.feed_id.0), ..Stored::default() };
    Ok(given.iter().map(stored).collect())
}

async fn write_unchanged(client: &impl GenericClient, given: &[Decided<'_>]) -> Result<Vec<Row>, Error> {
    let none = Validators::default();
    let validators: Vec<&Validators> = given
        .iter()
        .map(|one| if let PollOutcome::Unchanged(validators) = &one.result.outcome { validators } else { &none })
        .collect();
    let (ids, owners, fences) = polls::columns_of(leases_of(given));
    let Columns { check_in, audit_in, adaptive, due_by, before, after } = Columns::of(given);
    let etags: Vec<_> = validators.iter().map(|validators| optional(validators.etag.as_ref())).collect();
    let modified: Vec<_> = validators.iter().map(|validators| optional(validators.last_modified.as_ref())).collect();
    let hashes: Vec<Option<&[u8]>> =
        validators.iter().map(|validators| validators.body_hash.as_ref().map(|hash| hash.0.as_slice())).collect();
    let values: Params<'_> = &[
        &ids,
        &owners,
        &fences,
        &check_in,
        &audit_in,
        &adaptive,
        &etags,
        &modified,
        &hashes,
        &due_by,
        &before.0,
        &before.1,
        &before.2,
        &after.0,
        &after.1,
        &after.2,
        &Series::POLLED_UNCHANGED.number(),
    ];
    query(client, UNCHANGED, values).await
}

async fn write_failures(client: &impl GenericClient, given: &[Decided<'_>]) -> Result<Vec<Row>, Error> {
    let (ids, owners, fences) = polls::columns_of(leases_of(given));
    let Columns { check_in, adaptive, due_by, before, after, .. } = Columns::of(given);
    let reasons: Vec<_> = given
        .iter()
        .map(|one| match &one.result.outcome {
            PollOutcome::Failed(reason) | PollOutcome::Gone(reason) => text(reason),
            PollOutcome::Fetched(_) | PollOutcome::Unchanged(_) => text(""),
        })
        .collect();
    let values: Params<'_> = &[
        &ids,
        &owners,
        &fences,
        &check_in,
        &adaptive,
        &reasons,
        &due_by,
        &before.0,
        &before.1,
        &before.2,
        &after.0,
        &after.1,
        &after.2,
        &Series::POLL_FAILED.number(),
    ];
    query(client, FAILED, values).await
}

fn leases_of<'r>(given: &[Decided<'r>]) -> impl Iterator<Item = (i64, &'r Lease)> {
    given.iter().map(|one| (one.result.feed_id.0, &one.result.lease))
}

/// Failures, whether `feed.failing` was sent, whether it is gone.
type StandingColumns = (Vec<i64>, Vec<bool>, Vec<bool>);

struct Columns {
    check_in: Vec<i64>,
    audit_in: Vec<i64>,
    adaptive: Vec<i64>,
    due_by: Vec<Option<i64>>,
    before: StandingColumns,
    after: StandingColumns,
}

impl Columns {
    fn of(given: &[Decided<'_>]) -> Self {
        let standings = |standing: fn(&Decided<'_>) -> Standing| -> StandingColumns {
            let standings = || given.iter().map(standing);
            (
                standings().map(|standing| i64::from(standing.failure_count)).collect(),
                standings().map(|standing| standing.is_failing).collect(),
                standings().map(|standing| standing.is_gone).collect(),
            )
        };
        let changes = || given.iter().map(|one| one.change);
        Self {
            check_in: changes().map(|change| millis(change.check_in)).collect(),
            audit_in: changes().map(|change| millis(change.audit_in)).collect(),
            adaptive: changes().map(|change| i64::from(change.adaptive_secs)).collect(),
            due_by: changes().map(|change| change.due_by.map(Timestamp::as_millisecond)).collect(),
            before: standings(|one| one.before),
            after: standings(|one| one.change.standing),
        }
    }
}
