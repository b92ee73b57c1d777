//! Claims of subscriptions about which something is to be done, and the way back.
//!
//! A claim locks the subscription's row only, and never waits for it. So it may be made whoever holds the feed's row.
//! Where it begins to look is decided by [`claim_bounds`](crate::postgres::shared::claim_bounds).

use std::{sync::Mutex, time::Duration};

use deadpool_postgres::Client;
use domain::{Lease, SubscriptionId, push::SubscriptionJob};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params,
    feeds::polls,
    push::subscriptions::{COLUMNS, NEXT_STEP_AT, columns, subscription_of},
    query,
    shared::{
        claim_bounds::{ClaimBounds, ClaimedRows, lock},
        errors::reason,
        values::{millis, text, time},
    },
    timing,
};
use crate::values::known_states;

/// Where a scan of what is due begins, if it is made while the bound holds.
macro_rules! bound {
    () => {
        "bound AS MATERIALIZED (
    SELECT CASE WHEN ms >= $4 AND ms < $5 THEN $6 ELSE '-9223372036854775808'::bigint END AS due_at, $7::bigint AS id
    FROM now
),
"
    };
}

/// Claims what is in `due` and returns it. There is a row with the time if nothing is claimed, too.
macro_rules! claim_and_return {
    () => {
        concat!(
            "claimed AS (
    UPDATE subscriptions
    SET lease_owner = $1,
        lease_until = now.ms + $2,
        lease_ms = $2,
        lease_fence = lease_fence + 1
    FROM now, due
    WHERE subscriptions.id = due.id
    RETURNING subscriptions.*
)
SELECT ",
            columns!(),
            ", lease_owner, lease_fence, now.ms, (SELECT last_fetched_at FROM feeds WHERE feeds.id = subscriptions.feed_id)
FROM now
LEFT JOIN claimed AS subscriptions ON true
ORDER BY next_step_at, id"
        )
    };
}

const CLAIM_DUE: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
",
    bound!(),
    "due AS MATERIALIZED (
    SELECT id
    FROM subscriptions
    WHERE (next_step_at, id) > ((SELECT due_at FROM bound), (SELECT id FROM bound))
      AND next_step_at <= (SELECT ms FROM now)
      AND ",
    known_states!(),
    "
      -- 60000: clock::LEASE_SLACK_MS.
      AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000)
    ORDER BY next_step_at, id
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
),
",
    claim_and_return!()
);

/// The same past busy hubs: goes from hub to hub, so that what is due at those is not walked. What is found so is locked
/// then, unless another has it by now.
const CLAIM_DUE_ELSEWHERE: &str = concat!(
    "
WITH RECURSIVE now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
",
    bound!(),
    "hubs (hash) AS (
    (
        SELECT md5(hub_url)
        FROM subscriptions
        WHERE next_step_at IS NOT NULL
        ORDER BY md5(hub_url)
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT md5(hub_url)
        FROM subscriptions
        WHERE next_step_at IS NOT NULL
          AND md5(hub_url) > hubs.hash
        ORDER BY md5(hub_url)
        LIMIT 1
    )
    FROM hubs
    WHERE hash IS NOT NULL
),
candidates AS MATERIALIZED (
    SELECT candidate.id
    FROM hubs
    CROSS JOIN LATERAL (
        SELECT id, next_step_at
        FROM subscriptions
        WHERE md5(hub_url) = hubs.hash
          AND (next_step_at, id) > ((SELECT due_at FROM bound), (SELECT id FROM bound))
          AND next_step_at <= (SELECT ms FROM now)
          AND ",
    known_states!(),
    "
          -- 60000: clock::LEASE_SLACK_MS.
          AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000)
        ORDER BY next_step_at, id
        LIMIT $3
    ) AS candidate
    WHERE hubs.hash <> ALL(ARRAY(SELECT md5(busy.url) FROM unnest($8::text[]) AS busy (url)))
    ORDER BY candidate.next_step_at, candidate.id
    LIMIT $3
),
due AS MATERIALIZED (
    SELECT id
    FROM subscriptions
    WHERE id = ANY(ARRAY(SELECT id FROM candidates))
      AND next_step_at <= (SELECT ms FROM now)
      AND ",
    known_states!(),
    "
      -- 60000: clock::LEASE_SLACK_MS.
      AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000)
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
),
",
    claim_and_return!()
);

/// A hub that has accepted a renewal is given the time to verify it.
const CLAIM_EXPIRING: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
expiring AS MATERIALIZED (
    SELECT id
    FROM subscriptions
    WHERE state = 'active'
      AND expires_at <= (SELECT ms FROM now) + $4
      -- 60000: clock::LEASE_SLACK_MS.
      AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000)
      AND (verify_by IS NULL OR verify_by <= (SELECT ms FROM now))
    ORDER BY expires_at, id
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE subscriptions
SET lease_owner = $1,
    lease_until = now.ms + $2,
    lease_ms = $2,
    lease_fence = lease_fence + 1
FROM now, expiring
WHERE subscriptions.id = expiring.id
RETURNING ",
    columns!(),
    ", lease_owner, lease_fence, now.ms, (SELECT last_fetched_at FROM feeds WHERE feeds.id = subscriptions.feed_id)"
);

const RELEASE: &str = include_str!("sql/subscription_claims_release.sql");

pub(crate) const BY_DUE: &str = include_str!("sql/subscription_claims_by_due.sql");

/// A claim that passes over hubs moves no bound: what it has passed over is due before what it takes.
pub(crate) async fn claim_due(
    client: &Client,
    bounds: &Mutex<ClaimBounds<()>>,
    owner: &str,
    limit: u32,
    lease: Duration,
    but_not_at: &[String],
) -> Result<Vec<SubscriptionJob>, Error> {
    if !but_not_at.is_empty() {
        return claim_due_elsewhere(client, bounds, owner, limit, lease, but_not_at).await;
    }
    let scan = lock(bounds).claim();
    let (after_due, after_id) = scan.after();
    let (from, until) = (scan.bounded_from_ms, scan.bounded_until_ms);
    let values: Params<'_> = &[&owner, &millis(lease), &i64::from(limit), &from, &until, &after_due, &after_id];
    let rows = query(client, CLAIM_DUE, values).await?;
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let timing = timing(client, &scan, first.get(COLUMNS + 2)).await;
    let rows: Vec<&Row> = claimed_rows(&rows).collect();
    let last = rows.last().map(|row| (row.get(NEXT_STEP_AT), row.get(0)));
    let claimed = ClaimedRows { last, is_full: rows.len() >= limit as usize };
    lock(bounds).claimed(&scan, timing, [((), claimed)]);
    Ok(rows.into_iter().filter_map(readable_job).collect())
}

async fn claim_due_elsewhere(
    client: &Client,
    bounds: &Mutex<ClaimBounds<()>>,
    owner: &str,
    limit: u32,
    lease: Duration,
    but_not_at: &[String],
) -> Result<Vec<SubscriptionJob>, Error> {
    let busy: Vec<_> = but_not_at.iter().map(|hub| text(hub)).collect();
    let scan = lock(bounds).look();
    let (after_due, after_id) = scan.after();
    let (from, until) = (scan.bounded_from_ms, scan.bounded_until_ms);
    let values: Params<'_> = &[&owner, &millis(lease), &i64::from(limit), &from, &until, &after_due, &after_id, &busy];
    let rows = query(client, CLAIM_DUE_ELSEWHERE, values).await?;
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let timing = timing(client, &scan, first.get(COLUMNS + 2)).await;
    lock(bounds).looked(&scan, timing);
    Ok(claimed_rows(&rows).filter_map(readable_job).collect())
}

/// Without the row that only has the time.
fn claimed_rows(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().filter(|row| row.get::<_, Option<i64>>(0).is_some())
}

pub(crate) async fn claim_expiring(
    client: &Client,
    owner: &str,
    limit: u32,
    lease: Duration,
    within: Duration,
) -> Result<Vec<SubscriptionJob>, Error> {
    let values: Params<'_> = &[&owner, &millis(lease), &i64::from(limit), &millis(within)];
    let rows = query(client, CLAIM_EXPIRING, values).await?;
    // An update returns its rows in any order.
    let mut jobs: Vec<SubscriptionJob> = rows.iter().filter_map(readable_job).collect();
    jobs.sort_by_key(|job| (job.subscription.expires_at, job.subscription.id));
    Ok(jobs)
}

pub(crate) async fn release(
    client: &Client,
    bounds: &Mutex<ClaimBounds<()>>,
    leases: &[(SubscriptionId, Lease)],
) -> Result<(), Error> {
    let (ids, owners, fences) = polls::columns_of(leases.iter().map(|(id, lease)| (id.0, lease)));
    let released = query(client, RELEASE, &[&ids, &owners, &fences]).await?;
    polls::release_bound(bounds, &released);
    Ok(())
}

/// One that cannot be read does not stop the others: it comes again when its lease has run out.
fn readable_job(row: &Row) -> Option<SubscriptionJob> {
    let job = job_of(row);
    if let Err(error) = &job {
        tracing::error!(subscription_id = row.get::<_, i64>(0), error = reason(error), "subscription unreadable");
    }
    job.ok()
}

fn job_of(row: &Row) -> Result<SubscriptionJob, Error> {
    Ok(SubscriptionJob {
        subscription: subscription_of(row)?,
        lease: Lease { owner: row.get(COLUMNS), fence: row.get(COLUMNS + 1) },
        claimed_at: time(row.get(COLUMNS + 2)),
        feed_fetched_at: row.get::<_, Option<i64>>(COLUMNS + 3).map(time),
    })
}
