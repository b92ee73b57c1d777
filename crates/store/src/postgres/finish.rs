//! How polls ended, each guarded by its lease: feed, owner and fence. A lease that ran out but that nobody else has
//! taken is still good.
//!
//! Most polls bring nothing: all of those are one statement. A document is a transaction of its own, so that one that
//! cannot be stored costs no other.

use std::collections::HashSet;

use deadpool_postgres::{Client, GenericClient, Transaction};
use domain::{
    FeedId, Lease,
    feed_state::FeedAddress,
    ingest::{PollOutcome, PollResult, Stored, Validators},
    ports::StoreResult,
};
use tokio_postgres::{Error, Row};

use super::{
    Params, PostgresStore,
    errors::{is_taken, store_error},
    execute,
    ingest::{self, Target},
    now_ms, polls, query, query_opt,
    values::{millis, optional, text, url_hash},
};

/// Times a result is stored again because another feed took the URL it moves to in the same moment.
const URL_RACES_MAX: u32 = 3;

const UNCHANGED: &str = "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
given AS MATERIALIZED (
    SELECT *
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::bytea[])
        AS given (id, owner, fence, delay, adaptive_secs, etag, last_modified, body_hash)
),
held AS MATERIALIZED (
    SELECT feeds.id
    FROM feeds
    JOIN given ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
    ORDER BY feeds.id
    FOR NO KEY UPDATE OF feeds
)
UPDATE feeds
SET etag = given.etag,
    last_modified = given.last_modified,
    body_hash = given.body_hash,
    last_fetched_at = now.ms,
    next_check_at = now.ms + given.delay,
    adaptive_secs = given.adaptive_secs,
    failure_count = 0,
    last_error = NULL,
    is_gone = false,
    lease_owner = NULL,
    lease_until = 0
FROM now, given, held
WHERE feeds.id = held.id AND given.id = held.id
RETURNING feeds.id";

const FAILED: &str = "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
given AS MATERIALIZED (
    SELECT *
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[])
        AS given (id, owner, fence, delay, adaptive_secs, error, is_gone)
),
held AS MATERIALIZED (
    SELECT feeds.id
    FROM feeds
    JOIN given ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
    ORDER BY feeds.id
    FOR NO KEY UPDATE OF feeds
)
UPDATE feeds
SET next_check_at = now.ms + given.delay,
    adaptive_secs = given.adaptive_secs,
    failure_count = failure_count + 1,
    last_error = given.error,
    is_gone = feeds.is_gone OR given.is_gone,
    lease_owner = NULL,
    lease_until = 0
FROM now, given, held
WHERE feeds.id = held.id AND given.id = held.id
RETURNING feeds.id";

const HOLD: &str = "
SELECT folder_id
FROM feeds
WHERE id = $1 AND lease_owner = $2 AND lease_fence = $3
FOR NO KEY UPDATE";

const MOVE: &str = "
UPDATE feeds
SET url = $2,
    url_hash = $3,
    credentials = $4
WHERE id = $1
  AND NOT EXISTS (SELECT FROM feeds WHERE url_hash = $3)";

pub(super) async fn finish(store: &PostgresStore, results: &[PollResult]) -> StoreResult<Vec<StoreResult<Stored>>> {
    let mut client = store.client().await?;
    let mut stored: Vec<Option<StoreResult<Stored>>> = vec![None; results.len()];
    for is_wanted in [is_plain_unchanged, is_plain_failure] {
        let places: Vec<usize> = (0..results.len()).filter(|&place| is_wanted(&results[place])).collect();
        let outcomes = finish_plain(&client, results, &places).await;
        for (place, outcome) in places.into_iter().zip(outcomes) {
            stored[place] = Some(outcome);
        }
    }
    for (place, result) in results.iter().enumerate() {
        if stored[place].is_some() {
            continue;
        }
        if client.is_closed() {
            match store.client().await {
                Ok(other) => client = other,
                // What is stored is stored: only the rest is not.
                Err(error) => {
                    return Ok(stored.into_iter().map(|stored| stored.unwrap_or(Err(error.clone()))).collect());
                }
            }
        }
        stored[place] = Some(finish_whole(&mut client, result).await);
    }
    Ok(stored.into_iter().flatten().collect())
}

fn is_plain_unchanged(result: &PollResult) -> bool {
    result.moved_to.is_none() && matches!(result.outcome, PollOutcome::Unchanged(_))
}

fn is_plain_failure(result: &PollResult) -> bool {
    result.moved_to.is_none() && matches!(result.outcome, PollOutcome::Failed(_) | PollOutcome::Gone(_))
}

/// Results of one kind in one statement; if that fails, each by itself, so that only the bad one is lost.
async fn finish_plain(client: &Client, results: &[PollResult], places: &[usize]) -> Vec<StoreResult<Stored>> {
    let given: Vec<&PollResult> = places.iter().map(|&place| &results[place]).collect();
    match write_plain(client, &given).await {
        Ok(stored) => stored.into_iter().map(Ok).collect(),
        Err(_) if given.len() > 1 && !client.is_closed() => {
            let mut outcomes = Vec::with_capacity(given.len());
            for result in given {
                let stored = write_plain(client, &[result]).await.map_err(store_error);
                outcomes.push(stored.map(|stored| stored.first().copied().unwrap_or_default()));
            }
            outcomes
        }
        Err(error) => vec![Err(store_error(error)); given.len()],
    }
}

/// Writes results without a document, all of one kind.
async fn write_plain(client: &impl GenericClient, given: &[&PollResult]) -> Result<Vec<Stored>, Error> {
    let rows = match given.first().map(|result| &result.outcome) {
        None | Some(PollOutcome::Fetched(_)) => return Ok(Vec::new()),
        Some(PollOutcome::Unchanged(_)) => write_unchanged(client, given).await?,
        Some(PollOutcome::Failed(_) | PollOutcome::Gone(_)) => write_failures(client, given).await?,
    };
    let mut applied: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    Ok(given.iter().map(|result| Stored { applied: applied.remove(&result.feed_id.0), ..Stored::default() }).collect())
}

async fn write_unchanged(client: &impl GenericClient, given: &[&PollResult]) -> Result<Vec<Row>, Error> {
    let none = Validators::default();
    let validators: Vec<&Validators> = given
        .iter()
        .map(|result| if let PollOutcome::Unchanged(validators) = &result.outcome { validators } else { &none })
        .collect();
    let leases = leases_of(given);
    let (ids, owners, fences) = polls::columns_of(&leases);
    let (delays, adaptive) = schedule_of(given);
    let etags: Vec<_> = validators.iter().map(|validators| optional(validators.etag.as_ref())).collect();
    let modified: Vec<_> = validators.iter().map(|validators| optional(validators.last_modified.as_ref())).collect();
    let hashes: Vec<Option<&[u8]>> =
        validators.iter().map(|validators| validators.body_hash.as_ref().map(|hash| hash.0.as_slice())).collect();
    query(client, UNCHANGED, &[&ids, &owners, &fences, &delays, &adaptive, &etags, &modified, &hashes]).await
}

async fn write_failures(client: &impl GenericClient, given: &[&PollResult]) -> Result<Vec<Row>, Error> {
    let leases = leases_of(given);
    let (ids, owners, fences) = polls::columns_of(&leases);
    let (delays, adaptive) = schedule_of(given);
    let reasons: Vec<_> = given
        .iter()
        .map(|result| match &result.outcome {
            PollOutcome::Failed(reason) | PollOutcome::Gone(reason) => text(reason),
            PollOutcome::Fetched(_) | PollOutcome::Unchanged(_) => text(""),
        })
        .collect();
    let gone: Vec<bool> = given.iter().map(|result| matches!(result.outcome, PollOutcome::Gone(_))).collect();
    query(client, FAILED, &[&ids, &owners, &fences, &delays, &adaptive, &reasons, &gone]).await
}

fn leases_of(given: &[&PollResult]) -> Vec<(FeedId, Lease)> {
    given.iter().map(|result| (result.feed_id, result.lease.clone())).collect()
}

fn schedule_of(given: &[&PollResult]) -> (Vec<i64>, Vec<i64>) {
    given.iter().map(|result| (millis(result.next_check_in), i64::from(result.adaptive_secs))).unzip()
}

/// One result in a transaction of its own: a document, or a feed that has moved.
async fn finish_whole(client: &mut Client, result: &PollResult) -> StoreResult<Stored> {
    for _ in 1..URL_RACES_MAX {
        match write_whole(client, result).await {
            Err(error) if is_taken(&error) => {}
            stored => return stored.map_err(store_error),
        }
    }
    write_whole(client, result).await.map_err(store_error)
}

async fn write_whole(client: &mut Client, result: &PollResult) -> Result<Stored, Error> {
    let transaction = client.transaction().await?;
    let lease = &result.lease;
    // One after the other in the database, but in one round trip: the time is that after the wait for the lock.
    let guard: Params<'_> = &[&result.feed_id.0, &lease.owner, &lease.fence];
    let (held, now) = tokio::try_join!(query_opt(&transaction, HOLD, guard), now_ms(&transaction))?;
    let Some(held) = held else { return Ok(Stored::default()) };
    if let Some(address) = &result.moved_to {
        move_to(&transaction, result.feed_id, address).await?;
    }
    let stored = match &result.outcome {
        PollOutcome::Fetched(document) => {
            let target = Target {
                feed_id: result.feed_id.0,
                folder_id: held.get(0),
                claimed_at: result.claimed_at.as_millisecond(),
                now,
                next_check_at: now + millis(result.next_check_in),
                adaptive_secs: i64::from(result.adaptive_secs),
            };
            let ingested = ingest::store_document(&transaction, target, document).await?;
            Stored { applied: true, new: ingested.new, changed: ingested.changed, completed: 0 }
        }
        _ => write_plain(&transaction, &[result]).await?.first().copied().unwrap_or_default(),
    };
    transaction.commit().await?;
    Ok(stored)
}

/// Unless another feed is there already.
async fn move_to(transaction: &Transaction<'_>, feed: FeedId, address: &FeedAddress) -> Result<(), Error> {
    let credentials = optional(address.credentials.as_ref());
    execute(transaction, MOVE, &[&feed.0, &text(&address.url), &url_hash(address), &credentials]).await.map(drop)
}
