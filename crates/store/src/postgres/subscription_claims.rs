//! Claims of subscriptions about which something is to be done, and the way back.
//!
//! A claim locks the subscription's row only, and never waits for it. So it may be made whoever holds the feed's row.

use std::time::Duration;

use deadpool_postgres::Client;
use domain::{Lease, SubscriptionId, push::SubscriptionJob};
use tokio_postgres::{Error, Row};

use super::{
    Params,
    errors::reason,
    execute, polls, query,
    subscriptions::{COLUMNS, columns, subscription_of},
    values::{millis, text, time},
};

const CLAIM_DUE: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
due AS MATERIALIZED (
    SELECT id
    FROM subscriptions
    WHERE next_step_at <= (SELECT ms FROM now)
      AND lease_until <= (SELECT ms FROM now)
      AND hub_url <> ALL($4)
    ORDER BY next_step_at, id
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE subscriptions
SET lease_owner = $1,
    lease_until = now.ms + $2,
    lease_fence = lease_fence + 1
FROM now, due
WHERE subscriptions.id = due.id
RETURNING ",
    columns!(),
    ", lease_owner, lease_fence, now.ms"
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
      AND lease_until <= (SELECT ms FROM now)
      AND (verify_by IS NULL OR verify_by <= (SELECT ms FROM now))
    ORDER BY expires_at, id
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE subscriptions
SET lease_owner = $1,
    lease_until = now.ms + $2,
    lease_fence = lease_fence + 1
FROM now, expiring
WHERE subscriptions.id = expiring.id
RETURNING ",
    columns!(),
    ", lease_owner, lease_fence, now.ms"
);

const RELEASE: &str = "
WITH held AS MATERIALIZED (
    SELECT subscriptions.id
    FROM subscriptions
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
        ON subscriptions.id = given.id
        AND subscriptions.lease_owner = given.owner
        AND subscriptions.lease_fence = given.fence
    ORDER BY subscriptions.id
    FOR NO KEY UPDATE OF subscriptions
)
UPDATE subscriptions
SET lease_owner = NULL,
    lease_until = 0
FROM held
WHERE subscriptions.id = held.id";

/// As those of feeds: when, id, and until when it is leased.
pub(super) const BY_DUE: &str = "
SELECT next_step_at, id, lease_until
FROM subscriptions
WHERE next_step_at IS NOT NULL
  AND (next_step_at, id) > ($1, $2)
ORDER BY next_step_at, id
LIMIT 100";

pub(super) async fn claim_due(
    client: &Client,
    owner: &str,
    limit: u32,
    lease: Duration,
    but_not_at: &[String],
) -> Result<Vec<SubscriptionJob>, Error> {
    let but_not_at: Vec<_> = but_not_at.iter().map(|hub| text(hub)).collect();
    let values: Params<'_> = &[&owner, &millis(lease), &i64::from(limit), &but_not_at];
    let mut jobs = claim(client, CLAIM_DUE, values).await?;
    jobs.sort_by_key(|job| (job.subscription.next_step_at, job.subscription.id));
    Ok(jobs)
}

pub(super) async fn claim_expiring(
    client: &Client,
    owner: &str,
    limit: u32,
    lease: Duration,
    within: Duration,
) -> Result<Vec<SubscriptionJob>, Error> {
    let values: Params<'_> = &[&owner, &millis(lease), &i64::from(limit), &millis(within)];
    let mut jobs = claim(client, CLAIM_EXPIRING, values).await?;
    jobs.sort_by_key(|job| (job.subscription.expires_at, job.subscription.id));
    Ok(jobs)
}

/// An update gives its rows back in any order. One that cannot be read does not stop the others: it comes again when its
/// lease has run out.
async fn claim(client: &Client, sql: &str, values: Params<'_>) -> Result<Vec<SubscriptionJob>, Error> {
    let rows = query(client, sql, values).await?;
    let job = |row: &Row| match job_of(row) {
        Ok(job) => Some(job),
        Err(error) => {
            tracing::error!(id = row.get::<_, i64>(0), error = reason(&error), "a subscription cannot be read");
            None
        }
    };
    Ok(rows.iter().filter_map(job).collect())
}

pub(super) async fn release(client: &Client, leases: &[(SubscriptionId, Lease)]) -> Result<(), Error> {
    let (ids, owners, fences) = polls::columns_of(leases.iter().map(|(id, lease)| (id.0, lease)));
    execute(client, RELEASE, &[&ids, &owners, &fences]).await.map(drop)
}

fn job_of(row: &Row) -> Result<SubscriptionJob, Error> {
    Ok(SubscriptionJob {
        subscription: subscription_of(row)?,
        lease: Lease { owner: row.get(COLUMNS), fence: row.get(COLUMNS + 1) },
        claimed_at: time(row.get(COLUMNS + 2)),
    })
}
