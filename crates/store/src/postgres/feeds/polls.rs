//! Polling: claims, beats, and the way back.
//!
//! A claim never waits: it skips rows that others hold just now. It is guarded twice, by the row's lock while it is
//! made and by `lease_until` afterwards. Where it begins to look is decided by [`claim_bounds`](crate::postgres::shared::claim_bounds).

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
    time::Duration,
};

use async_trait::async_trait;
use deadpool_postgres::Client;
use domain::{
    Feed, FeedId, Lease,
    feed_state::FeedAddress,
    ingest::{Hash, KnownEntries, PollHints, PollJob, PollResult, Skips, Stored, Validators},
    overview::FeedOverview,
    ports::{PollStore, PruneLimits, StoreResult},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore,
    entries::{ingest, prune},
    execute,
    feeds::{self, finish, overview},
    now_ms, query,
    shared::{
        claim_bounds::{ClaimBounds, ClaimedRows, Position, START, lock},
        errors::store_error,
        values::{hash, millis, time, to_u32},
    },
    timing,
};

const CLAIM_DUE: &str = include_str!("sql/polls_claim_due.sql");

const CLAIM: &str = include_str!("sql/polls_claim.sql");

const RENEW: &str = include_str!("sql/polls_renew.sql");

const RELEASE: &str = include_str!("sql/polls_release.sql");

const POSTPONE: &str = include_str!("sql/polls_postpone.sql");

const DUE: &str = include_str!("sql/polls_due.sql");

const BY_DUE: &str = include_str!("sql/polls_by_due.sql");

#[async_trait]
impl PollStore for PostgresStore {
    async fn claim_due_polls(&self, owner: &str, limit: u32, lease: Duration) -> StoreResult<Vec<PollJob>> {
        let client = self.client().await?;
        claim_due(&client, &self.bounds.polls, owner, limit, lease).await.map_err(store_error)
    }

    async fn claim_polls(&self, owner: &str, feeds: &[FeedId], lease: Duration) -> StoreResult<Vec<PollJob>> {
        let client = self.client().await?;
        let ids: Vec<i64> = feeds.iter().map(|feed| feed.0).collect();
        let rows = query(&client, CLAIM, &[&owner, &millis(lease), &ids]).await.map_err(store_error)?;
        let mut jobs: HashMap<FeedId, PollJob> = rows.iter().map(job_of).map(|job| (job.feed_id, job)).collect();
        Ok(feeds.iter().filter_map(|feed| jobs.remove(feed)).collect())
    }

    async fn renew_polls(&self, leases: &[(FeedId, Lease)], lease: Duration) -> StoreResult<Vec<FeedId>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let (ids, owners, fences) = columns_of(leases.iter().map(|(feed, lease)| (feed.0, lease)));
        let until = millis(lease);
        let rows =
            self.beat(lease, async |client| query(client, RENEW, &[&ids, &owners, &fences, &until]).await).await?;
        let held: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        Ok(leases.iter().map(|(feed, _)| *feed).filter(|feed| !held.contains(&feed.0)).collect())
    }

    async fn release_polls(&self, leases: &[(FeedId, Lease)]) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let client = self.client().await?;
        let (ids, owners, fences) = columns_of(leases.iter().map(|(feed, lease)| (feed.0, lease)));
        let released = query(&client, RELEASE, &[&ids, &owners, &fences]).await.map_err(store_error)?;
        release_bound(&self.bounds.polls, &released);
        Ok(())
    }

    async fn postpone_polls(&self, leases: &[(FeedId, Lease)], delay: Duration) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let client = self.client().await?;
        let (ids, owners, fences) = columns_of(leases.iter().map(|(feed, lease)| (feed.0, lease)));
        execute(&client, POSTPONE, &[&ids, &owners, &fences, &millis(delay)]).await.map(drop).map_err(store_error)
    }

    async fn known_entries(&self, feed: FeedId, identities: &[Hash]) -> StoreResult<KnownEntries> {
        let client = self.client().await?;
        ingest::known(&client, feed.0, identities).await.map_err(store_error)
    }

    async fn finish_polls(&self, results: Vec<PollResult>) -> StoreResult<Vec<StoreResult<Stored>>> {
        finish::finish(self, &results).await
    }

    async fn next_poll_in(&self) -> StoreResult<Option<Duration>> {
        let client = self.client().await?;
        next_in(&client, &self.bounds.polls, BY_DUE).await.map_err(store_error)
    }

    async fn due_polls(&self, limit: u32) -> StoreResult<Vec<FeedId>> {
        let rows = self.read(async |client| query(client, DUE, &[&i64::from(limit)]).await).await?;
        Ok(rows.iter().map(|row| FeedId(row.get(0))).collect())
    }

    async fn polled_feed(&self, id: FeedId) -> StoreResult<Option<Feed>> {
        let client = self.client().await?;
        feeds::polled(&client, id).await.map_err(store_error)
    }

    async fn feed_overview(&self) -> StoreResult<FeedOverview> {
        let _permit = self.slow_permit().await?;
        let client = self.client_for_long().await?;
        overview::overview(&client).await.map_err(store_error)
    }

    async fn prune_entries(&self, limits: PruneLimits) -> StoreResult<u64> {
        let mut client = self.client_for_long().await?;
        prune::prune(self, &mut client, limits).await.map_err(store_error)
    }
}

async fn claim_due(
    client: &Client,
    bounds: &Mutex<ClaimBounds<()>>,
    owner: &str,
    limit: u32,
    lease: Duration,
) -> Result<Vec<PollJob>, Error> {
    let scan = lock(bounds).claim();
    let (after_due, after_id) = scan.after();
    let (from, until) = (scan.bounded_from_ms, scan.bounded_until_ms);
    let values: Params<'_> = &[&owner, &millis(lease), &i64::from(limit), &from, &until, &after_due, &after_id];
    let rows = query(client, CLAIM_DUE, values).await?;
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let timing = timing(client, &scan, first.get(8)).await;
    let jobs: Vec<&Row> = rows.iter().filter(|row| row.get::<_, Option<i64>>(0).is_some()).collect();
    let last = jobs.last().map(|row| (row.get(16), row.get(0)));
    let claimed = ClaimedRows { last, is_full: jobs.len() >= limit as usize };
    lock(bounds).claimed(&scan, timing, [((), claimed)]);
    Ok(jobs.into_iter().map(job_of).collect())
}

/// Claims begin no later than at the first of what was released: when it is due, and its id.
pub(crate) fn release_bound(bounds: &Mutex<ClaimBounds<()>>, released: &[Row]) {
    let first = released.iter().map(|row| (row.get(0), row.get(1))).min();
    if let Some(first) = first {
        lock(bounds).released(&(), first);
    }
}

/// When the next is due, from now, by a statement such as the one above. One that is leased is due again when its lease
/// runs out; if that is behind the bound it is seen by the next whole look.
pub(crate) async fn next_in(
    client: &Client,
    bounds: &Mutex<ClaimBounds<()>>,
    by_due: &str,
) -> Result<Option<Duration>, Error> {
    let scan = lock(bounds).look();
    let now_ms = now_ms(client).await?;
    let start = if scan.is_bounded(now_ms) { scan.after() } else { START };
    let at = next_at(client, by_due, now_ms, start).await?;
    let timing = timing(client, &scan, now_ms).await;
    lock(bounds).looked(&scan, timing);
    Ok(at.map(|at| Duration::from_millis(u64::try_from(at - now_ms).unwrap_or(0))))
}

/// The walk passes those that are leased, and ends at the first that is not. In steps, because the planner cannot know
/// that it ends so soon.
async fn next_at(client: &Client, by_due: &str, now: i64, start: Position) -> Result<Option<i64>, Error> {
    let mut position = start;
    let mut next: Option<i64> = None;
    loop {
        let rows = query(client, by_due, &[&position.0, &position.1]).await?;
        for row in &rows {
            let (due_at, lease_until): (i64, i64) = (row.get(0), row.get(2));
            if next.is_some_and(|next| next <= due_at) {
                return Ok(next);
            }
            let at = if lease_until > now { due_at.max(lease_until) } else { due_at };
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        let Some(last) = rows.last() else { return Ok(next) };
        position = (last.get(0), last.get(1));
    }
}

/// Leases in three columns: id, owner, fence.
pub(crate) fn columns_of<'l>(leases: impl Iterator<Item = (i64, &'l Lease)>) -> (Vec<i64>, Vec<&'l str>, Vec<i64>) {
    let (mut ids, mut owners, mut fences) = (Vec::new(), Vec::new(), Vec::new());
    for (id, lease) in leases {
        ids.push(id);
        owners.push(lease.owner.as_str());
        fences.push(lease.fence);
    }
    (ids, owners, fences)
}

fn job_of(row: &Row) -> PollJob {
    PollJob {
        feed_id: FeedId(row.get(0)),
        address: FeedAddress { url: row.get(1), credentials: row.get(2) },
        validators: Validators {
            etag: row.get(3),
            last_modified: row.get(4),
            body_hash: row.get::<_, Option<&[u8]>>(5).and_then(hash),
        },
        lease: Lease { owner: row.get(6), fence: row.get(7) },
        claimed_at: time(row.get(8)),
        due_at: time(row.get(16)),
        failure_count: to_u32(row.get(9)),
        adaptive_secs: to_u32(row.get(10)),
        poll_interval: row.get::<_, Option<i64>>(11).map(to_u32),
        is_first_fetch: row.get(12),
        hints: PollHints {
            ttl_mins: row.get::<_, Option<i64>>(13).map(to_u32),
            skips: Skips { hours: to_u32(row.get(14)), days: u8::try_from(row.get::<_, i64>(15)).unwrap_or_default() },
        },
    }
}
