//! Polling: claims, beats, and the way back.

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    Feed, FeedId, Lease,
    feed_state::FeedAddress,
    ingest::{Hash, KnownEntries, PollHints, PollJob, PollResult, Skips, Stored, Validators},
    overview::FeedOverview,
    ports::{PollStore, PruneLimits, StoreResult, Viewer},
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    SqliteStore,
    entries::{ingest, prune},
    feeds::{finish, overview, polled},
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{millis, time, to_u32};

pub(crate) const CLAIM_DUE: &str = include_str!("sql/polls_claim_due.sql");

pub(crate) const CLAIM: &str = include_str!("sql/polls_claim.sql");

pub(crate) const RENEW: &str = include_str!("sql/polls_renew.sql");

pub(crate) const RELEASE: &str = include_str!("sql/polls_release.sql");

pub(crate) const POSTPONE: &str = include_str!("sql/polls_postpone.sql");

pub(crate) const BY_DUE: &str = include_str!("sql/polls_by_due.sql");

pub(crate) const HAS_DUE: &str = include_str!("sql/polls_has_due.sql");

pub(crate) const HAS_DUE_OF: &str = include_str!("sql/polls_has_due_of.sql");

#[async_trait]
impl PollStore for SqliteStore {
    async fn claim_due_polls(&self, owner: &str, limit: u32, lease: Duration) -> StoreResult<Vec<PollJob>> {
        let owner = owner.to_owned();
        self.writer.write(Priority::Usual, move |changes| claim_due(changes, &owner, limit, lease)).await
    }

    async fn claim_polls(&self, owner: &str, feeds: &[FeedId], lease: Duration) -> StoreResult<Vec<PollJob>> {
        let (owner, feeds) = (owner.to_owned(), feeds.to_vec());
        self.writer.write(Priority::Usual, move |changes| claim(changes, &owner, &feeds, lease)).await
    }

    async fn renew_polls(&self, leases: &[(FeedId, Lease)], lease: Duration) -> StoreResult<Vec<FeedId>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let leases = leases.to_vec();
        self.writer.write(Priority::Urgent, move |changes| renew(changes, &leases, lease)).await
    }

    async fn release_polls(&self, leases: &[(FeedId, Lease)]) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let leases = leases.to_vec();
        self.writer.write(Priority::Usual, move |changes| release(changes, &leases)).await
    }

    async fn postpone_polls(&self, leases: &[(FeedId, Lease)], delay: Duration) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let leases = leases.to_vec();
        self.writer.write(Priority::Usual, move |changes| postpone(changes, &leases, delay)).await
    }

    async fn known_entries(&self, feed: FeedId, identities: &[Hash]) -> StoreResult<KnownEntries> {
        let identities = identities.iter().copied().collect();
        self.readers.read(move |connection| ingest::known_entries(connection, feed.0, &identities)).await
    }

    async fn finish_polls(&self, results: Vec<PollResult>) -> StoreResult<Vec<StoreResult<Stored>>> {
        finish::finish(self, results).await
    }

    async fn next_poll_in(&self) -> StoreResult<Option<Duration>> {
        let now = self.now();
        let at = self.readers.read(move |connection| next_at(connection, BY_DUE, now)).await?;
        Ok(at.map(|at| Duration::from_millis(u64::try_from(at - now).unwrap_or(0))))
    }

    async fn has_due_polls(&self, viewer: Viewer) -> StoreResult<bool> {
        let now = self.now();
        let work = move |connection: &Connection| match viewer {
            Viewer::Server => connection.prepare_cached(HAS_DUE)?.exists([now]),
            Viewer::Account(account) => connection.prepare_cached(HAS_DUE_OF)?.exists((now, account.0)),
        };
        self.readers.read(work).await
    }

    async fn polled_feed(&self, id: FeedId) -> StoreResult<Option<Feed>> {
        self.readers.read(move |connection| polled(connection, id)).await
    }

    async fn feed_overview(&self) -> StoreResult<FeedOverview> {
        let now = self.now();
        self.slow_readers.read(move |connection| overview::overview(connection, now)).await
    }

    async fn prune_entries(&self, limits: PruneLimits) -> StoreResult<u64> {
        prune::prune(self, limits).await
    }
}

fn claim_due(changes: &mut WriteTx<'_>, owner: &str, limit: u32, lease: Duration) -> Result<Vec<PollJob>> {
    let mut statement = changes.connection.prepare_cached(CLAIM_DUE)?;
    let claimed = statement
        .query_map((owner, changes.now(), millis(lease), limit), |row| Ok((row.get::<_, i64>(16)?, job_of(row)?)))?;
    let mut claimed: Vec<(i64, PollJob)> = claimed.collect::<Result<_>>()?;
    // An update returns its rows in any order.
    claimed.sort_by_key(|(due_at, job)| (*due_at, job.feed_id));
    Ok(claimed.into_iter().map(|(_, job)| job).collect())
}

fn claim(changes: &mut WriteTx<'_>, owner: &str, feeds: &[FeedId], lease: Duration) -> Result<Vec<PollJob>> {
    let mut statement = changes.connection.prepare_cached(CLAIM)?;
    let mut claimed = Vec::new();
    for feed in feeds {
        claimed.extend(statement.query_row((owner, changes.now(), millis(lease), feed.0), job_of).optional()?);
    }
    Ok(claimed)
}

/// A lease that ran out but that nobody else has taken is still good.
fn renew(changes: &mut WriteTx<'_>, leases: &[(FeedId, Lease)], lease: Duration) -> Result<Vec<FeedId>> {
    let until = changes.now() + millis(lease);
    let mut statement = changes.connection.prepare_cached(RENEW)?;
    let mut lost = Vec::new();
    for (feed, held) in leases {
        if statement.execute((feed.0, &held.owner, held.fence, until))? == 0 {
            lost.push(*feed);
        }
    }
    Ok(lost)
}

fn release(changes: &mut WriteTx<'_>, leases: &[(FeedId, Lease)]) -> Result<()> {
    let mut statement = changes.connection.prepare_cached(RELEASE)?;
    for (feed, held) in leases {
        // Nothing to release if another has it.
        statement.execute((feed.0, &held.owner, held.fence))?;
    }
    Ok(())
}

fn postpone(changes: &mut WriteTx<'_>, leases: &[(FeedId, Lease)], delay: Duration) -> Result<()> {
    let due_at = changes.now() + millis(delay);
    let mut statement = changes.connection.prepare_cached(POSTPONE)?;
    for (feed, held) in leases {
        // Nothing to defer if another has it.
        statement.execute((feed.0, &held.owner, held.fence, due_at))?;
    }
    Ok(())
}

/// What is claimed is due again when its lease runs out. The walk passes those that are, and ends at the first that is
/// not.
pub(crate) fn next_at(connection: &Connection, by_due: &str, now: i64) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached(by_due)?;
    let mut rows = statement.query([])?;
    let mut next: Option<i64> = None;
    while let Some(row) = rows.next()? {
        let (due_at, lease_until): (i64, i64) = (row.get(0)?, row.get(1)?);
        if next.is_some_and(|next| next <= due_at) {
            break;
        }
        let at = if lease_until > now { due_at.max(lease_until) } else { due_at };
        next = Some(next.map_or(at, |next| next.min(at)));
    }
    Ok(next)
}

fn job_of(row: &Row<'_>) -> Result<PollJob> {
    Ok(PollJob {
        feed_id: FeedId(row.get(0)?),
        address: FeedAddress { url: row.get(1)?, credentials: row.get(2)? },
        validators: Validators {
            etag: row.get(3)?,
            last_modified: row.get(4)?,
            body_hash: row.get::<_, Option<[u8; 16]>>(5)?.map(Hash),
        },
        lease: Lease { owner: row.get(6)?, fence: row.get(7)? },
        claimed_at: time(row.get(8)?),
        due_at: time(row.get(16)?),
        failure_count: to_u32(row.get(9)?),
        adaptive_secs: to_u32(row.get(10)?),
        poll_interval: row.get::<_, Option<i64>>(11)?.map(to_u32),
        is_first_fetch: row.get(12)?,
        hints: PollHints { ttl_mins: row.get(13)?, skips: Skips { hours: row.get(14)?, days: row.get(15)? } },
    })
}
