//! How polls ended that brought no document: most do, and all of a kind are one statement. Each is guarded by its lease.
//!
//! What is news takes a transaction, and is left to whoever has one: that a feed fails for the third time in a row, that
//! it is gone, that it is well again. The conditions are those of `domain::feed_state::Standing`.
//!
//! A feed is due again when the schedule says, or if a hub is trusted to push it, when that is to be checked. A claim
//! takes the wish for a poll away: one that is there came later, and is not put off. A poll that somebody asked for
//! before the feed was due (`due_by`) puts nothing off, and adds no failure to those that there are.

use std::collections::HashSet;

use deadpool_postgres::{Client, GenericClient};
use domain::{
    Lease,
    delivery::FAILING_AFTER,
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
        values::{millis, optional, text},
    },
};

const UNCHANGED: &str = include_str!("sql/finish_plain_unchanged.sql");

const FAILED: &str = include_str!("sql/finish_plain_failed.sql");

pub(crate) fn is_unchanged(result: &PollResult) -> bool {
    result.moved_to.is_none() && matches!(result.outcome, PollOutcome::Unchanged(_))
}

pub(crate) fn is_failure(result: &PollResult) -> bool {
    result.moved_to.is_none() && matches!(result.outcome, PollOutcome::Failed(_) | PollOutcome::Gone(_))
}

/// Results of one kind in one statement; if that fails, each by itself, so that only the bad one is lost.
pub(crate) async fn finish(client: &Client, results: &[PollResult], places: &[usize]) -> Vec<StoreResult<Stored>> {
    let given: Vec<&PollResult> = places.iter().map(|&place| &results[place]).collect();
    match write(client, &given, false).await {
        Ok(stored) => stored.into_iter().map(Ok).collect(),
        Err(_) if given.len() > 1 && !client.is_closed() => {
            let mut outcomes = Vec::with_capacity(given.len());
            for result in given {
                let stored = write(client, &[result], false).await.map_err(store_error);
                outcomes.push(stored.map(|stored| stored.first().copied().unwrap_or_default()));
            }
            outcomes
        }
        Err(error) => vec![Err(store_error(error)); given.len()],
    }
}

/// Writes results without a document, all of one kind; those that are news only for whoever tells it.
pub(crate) async fn write(
    client: &impl GenericClient,
    given: &[&PollResult],
    tells: bool,
) -> Result<Vec<Stored>, Error> {
    let rows = match given.first().map(|result| &result.outcome) {
        None | Some(PollOutcome::Fetched(_)) => return Ok(Vec::new()),
        Some(PollOutcome::Unchanged(_)) => write_unchanged(client, given, tells).await?,
        Some(PollOutcome::Failed(_) | PollOutcome::Gone(_)) => write_failures(client, given, tells).await?,
    };
    let mut applied: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    Ok(given.iter().map(|result| Stored { applied: applied.remove(&result.feed_id.0), ..Stored::default() }).collect())
}

async fn write_unchanged(client: &impl GenericClient, given: &[&PollResult], tells: bool) -> Result<Vec<Row>, Error> {
    let none = Validators::default();
    let validators: Vec<&Validators> = given
        .iter()
        .map(|result| if let PollOutcome::Unchanged(validators) = &result.outcome { validators } else { &none })
        .collect();
    let (ids, owners, fences) = polls::columns_of(leases_of(given));
    let (check_in, adaptive) = schedule_of(given);
    let audit_in: Vec<i64> = given.iter().map(|result| millis(result.next_audit_in)).collect();
    let due_by = due_by_of(given);
    let etags: Vec<_> = validators.iter().map(|validators| optional(validators.etag.as_ref())).collect();
    let modified: Vec<_> = validators.iter().map(|validators| optional(validators.last_modified.as_ref())).collect();
    let hashes: Vec<Option<&[u8]>> =
        validators.iter().map(|validators| validators.body_hash.as_ref().map(|hash| hash.0.as_slice())).collect();
    let values: Params<'_> =
        &[&ids, &owners, &fences, &check_in, &audit_in, &adaptive, &etags, &modified, &hashes, &due_by, &tells];
    query(client, UNCHANGED, values).await
}

async fn write_failures(client: &impl GenericClient, given: &[&PollResult], tells: bool) -> Result<Vec<Row>, Error> {
    let (ids, owners, fences) = polls::columns_of(leases_of(given));
    let (check_in, adaptive) = schedule_of(given);
    let reasons: Vec<_> = given
        .iter()
        .map(|result| match &result.outcome {
            PollOutcome::Failed(reason) | PollOutcome::Gone(reason) => text(reason),
            PollOutcome::Fetched(_) | PollOutcome::Unchanged(_) => text(""),
        })
        .collect();
    let gone: Vec<bool> = given.iter().map(|result| matches!(result.outcome, PollOutcome::Gone(_))).collect();
    let due_by = due_by_of(given);
    let third = i64::from(FAILING_AFTER);
    let values: Params<'_> = &[&ids, &owners, &fences, &check_in, &adaptive, &reasons, &gone, &due_by, &tells, &third];
    query(client, FAILED, values).await
}

fn leases_of<'r>(given: &[&'r PollResult]) -> impl Iterator<Item = (i64, &'r Lease)> {
    given.iter().map(|result| (result.feed_id.0, &result.lease))
}

fn schedule_of(given: &[&PollResult]) -> (Vec<i64>, Vec<i64>) {
    given.iter().map(|result| (millis(result.next_check_in), i64::from(result.adaptive_secs))).unzip()
}

fn due_by_of(given: &[&PollResult]) -> Vec<Option<i64>> {
    given.iter().map(|result| result.due_by.map(Timestamp::as_millisecond)).collect()
}
