//! Claims of subscriptions about which something is to be done, and the way back.

use std::time::Duration;

use domain::{Lease, SubscriptionId, push::SubscriptionJob};
use rusqlite::{Params, Result, Row};

use crate::sqlite::{
    push::subscriptions::{COLUMNS, columns, subscription_of},
    shared::writer::WriteTx,
};
use crate::values::{known_states, millis, time};

/// Claims the subscriptions whose ids a query selects, and returns them.
macro_rules! claim {
    ($($ids:tt)+) => {
        concat!(
            "
UPDATE subscriptions
SET lease_owner = ?1,
    lease_until = ?2 + ?3,
    lease_ms = ?3,
    lease_fence = lease_fence + 1
WHERE id IN (
",
            $($ids)+,
            ")
RETURNING ",
            columns!(),
            ", lease_owner, lease_fence, (SELECT last_fetched_at FROM feeds WHERE feeds.id = subscriptions.feed_id)"
        )
    };
}

/// Walks the index of due steps from its start. A subscription whose worker died is still due, and is claimed again
/// once its lease has run out.
pub(crate) const CLAIM_DUE: &str = claim!(
    "    SELECT id
    FROM subscriptions INDEXED BY subscriptions_due
    WHERE next_step_at <= ?2
      AND ",
    known_states!(),
    "
      -- 60000: clock::LEASE_SLACK_MS.
      AND NOT (lease_until > ?2 AND lease_until <= ?2 + lease_ms + 60000)
    ORDER BY next_step_at, id
    LIMIT ?4
"
);

/// The same past busy hubs: goes from hub to hub, so that what is due at those is not walked.
pub(crate) const CLAIM_DUE_ELSEWHERE: &str = claim!(
    "    WITH RECURSIVE hubs (url) AS (
        SELECT min(hub_url)
        FROM subscriptions INDEXED BY subscriptions_due_by_hub
        WHERE next_step_at IS NOT NULL
        UNION ALL
        SELECT (
            SELECT min(hub_url)
            FROM subscriptions INDEXED BY subscriptions_due_by_hub
            WHERE next_step_at IS NOT NULL
              AND hub_url > hubs.url
        )
        FROM hubs
        WHERE url IS NOT NULL
    )
    SELECT candidate.id
    FROM hubs
    CROSS JOIN subscriptions AS candidate
    WHERE hubs.url NOT IN (SELECT value FROM json_each(?5))
      AND candidate.id IN (
          SELECT id
          FROM subscriptions INDEXED BY subscriptions_due_by_hub
          WHERE hub_url = hubs.url
            AND next_step_at <= ?2
            AND ",
    known_states!(),
    "
            -- 60000: clock::LEASE_SLACK_MS.
            AND NOT (lease_until > ?2 AND lease_until <= ?2 + lease_ms + 60000)
          ORDER BY next_step_at, id
          LIMIT ?4
      )
    ORDER BY candidate.next_step_at, candidate.id
    LIMIT ?4
"
);

/// A hub that has accepted a renewal is given the time to verify it.
pub(crate) const CLAIM_EXPIRING: &str = claim!(
    "    SELECT id
    FROM subscriptions INDEXED BY subscriptions_expiring
    WHERE state = 'active'
      AND expires_at <= ?2 + ?5
      -- 60000: clock::LEASE_SLACK_MS.
      AND NOT (lease_until > ?2 AND lease_until <= ?2 + lease_ms + 60000)
      AND coalesce(verify_by, 0) <= ?2
    ORDER BY expires_at, id
    LIMIT ?4
"
);

pub(crate) const RELEASE: &str = include_str!("sql/subscription_claims_release.sql");

pub(crate) const BY_DUE: &str = include_str!("sql/subscription_claims_by_due.sql");

pub(crate) fn claim_due(
    changes: &mut WriteTx<'_>,
    owner: &str,
    limit: u32,
    lease: Duration,
    but_not_at: Option<&str>,
) -> Result<Vec<SubscriptionJob>> {
    let now = changes.now();
    let mut claimed = match but_not_at {
        None => claim(changes, CLAIM_DUE, now, (owner, now, millis(lease), limit))?,
        Some(hubs) => claim(changes, CLAIM_DUE_ELSEWHERE, now, (owner, now, millis(lease), limit, hubs))?,
    };
    claimed.sort_by_key(|job| (job.subscription.next_step_at, job.subscription.id));
    Ok(claimed)
}

pub(crate) fn claim_expiring(
    changes: &mut WriteTx<'_>,
    owner: &str,
    limit: u32,
    lease: Duration,
    within: Duration,
) -> Result<Vec<SubscriptionJob>> {
    let now = changes.now();
    let mut claimed = claim(changes, CLAIM_EXPIRING, now, (owner, now, millis(lease), limit, millis(within)))?;
    claimed.sort_by_key(|job| (job.subscription.expires_at, job.subscription.id));
    Ok(claimed)
}

/// An update returns its rows in any order. One that cannot be read does not stop the others: it comes again when its
/// lease has run out.
fn claim(changes: &mut WriteTx<'_>, sql: &str, now: i64, values: impl Params) -> Result<Vec<SubscriptionJob>> {
    let claimed_at = time(now);
    let mut statement = changes.connection.prepare_cached(sql)?;
    let job_of = |row: &Row<'_>| -> Result<SubscriptionJob> {
        let lease = Lease { owner: row.get(COLUMNS)?, fence: row.get(COLUMNS + 1)? };
        let feed_fetched_at = row.get::<_, Option<i64>>(COLUMNS + 2)?.map(time);
        Ok(SubscriptionJob { subscription: subscription_of(row)?, lease, claimed_at, feed_fetched_at })
    };
    let (mut rows, mut jobs) = (statement.query(values)?, Vec::new());
    while let Some(row) = rows.next()? {
        match job_of(row) {
            Ok(job) => jobs.push(job),
            Err(error) => {
                let id: Option<i64> = row.get(0).ok();
                tracing::error!(subscription_id = id, %error, "subscription unreadable");
            }
        }
    }
    Ok(jobs)
}

pub(crate) fn release(changes: &mut WriteTx<'_>, leases: &[(SubscriptionId, Lease)]) -> Result<()> {
    let mut statement = changes.connection.prepare_cached(RELEASE)?;
    for (id, held) in leases {
        // Nothing to release if another has it, or if there is none any more.
        statement.execute((id.0, &held.owner, held.fence))?;
    }
    Ok(())
}
