//! Leases of deliveries: their beats, the way back, and when the next can be claimed.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use deadpool_postgres::Client;
use domain::{DeliveryId, Lease, WebhookId, delivery::BROKEN_AFTER};
use tokio_postgres::Error;

use super::{
    errors::{is_circle, is_locked},
    execute, polls, query, query_opt,
    values::millis,
};

/// Little for each row: this is done to a thousand of them several times a second. Rows that somebody may have locked are
/// left out: those whose last lock (`xmax`) is not of a transaction that had ended when this one began. So nobody is waited
/// for, but for the blink between the look at a row and its change, and then not for long.
///
/// Each row is found by its key: the owner is compared in a way that no index knows, because the planner takes those that
/// are held for few, and would compare each of them with each.
const RENEW: &str = "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
patience AS MATERIALIZED (SELECT set_config('lock_timeout', '100ms', true) FROM now)
UPDATE deliveries
SET lease_until = (SELECT ms FROM now) + $4
FROM unnest($2::bigint[], $3::bigint[]) AS given (id, fence)
WHERE deliveries.id = given.id
  AND deliveries.lease_fence = given.fence
  AND coalesce(deliveries.lease_owner, '') = $1
  AND deliveries.status = 'pending'
  AND (SELECT count(*) FROM patience) >= 0
  AND age(deliveries.xmax) > (SELECT age(pg_snapshot_xmin(pg_current_snapshot())::xid))";

/// Differs from the above because it takes the locks first, which is more work, and so knows for certain which rows are
/// locked. Whoever has one locked is about to end its lease, or to take it: the next beat will see. Nobody is waited for,
/// so the order of the locks does not matter.
const RENEW_UNLOCKED: &str = "
WITH free AS MATERIALIZED (
    SELECT deliveries.ctid
    FROM deliveries
    JOIN unnest($2::bigint[], $3::bigint[]) AS given (id, fence)
        ON deliveries.id = given.id
        AND deliveries.lease_fence = given.fence
    WHERE coalesce(deliveries.lease_owner, '') = $1
      AND deliveries.status = 'pending'
    FOR NO KEY UPDATE OF deliveries SKIP LOCKED
)
UPDATE deliveries
SET lease_until = (SELECT pirssonite_now_ms()) + $4
WHERE ctid = ANY(ARRAY(SELECT ctid FROM free))";

/// Those that are held, renewed or not, and whether they may have been left out: what was just renewed has no lock.
const HELD: &str = "
SELECT deliveries.id, deliveries.lease_fence, deliveries.xmax <> '0'::xid
FROM deliveries
JOIN unnest($2::bigint[], $3::bigint[]) AS given (id, fence)
    ON deliveries.id = given.id
    AND deliveries.lease_fence = given.fence
WHERE coalesce(deliveries.lease_owner, '') = $1
  AND deliveries.status = 'pending'";

const RELEASE: &str = "
WITH held AS MATERIALIZED (
    SELECT deliveries.id
    FROM deliveries
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
        ON deliveries.id = given.id
        AND deliveries.lease_owner = given.owner
        AND deliveries.lease_fence = given.fence
    WHERE deliveries.status = 'pending'
    ORDER BY deliveries.id
    FOR NO KEY UPDATE OF deliveries
)
UPDATE deliveries
SET lease_owner = NULL,
    lease_until = 0
WHERE id = ANY(ARRAY(SELECT id FROM held))";

/// Of each webhook the first row that nobody holds, and the few that somebody does. While only probes are sent, none goes
/// out before its time, nor while another is under way.
const NEXT: &str = "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
SELECT min(CASE WHEN failures < $2 THEN next.at ELSE greatest(next.at, probe_at, held.until_last) END) - (SELECT ms FROM now)
FROM webhooks
CROSS JOIN LATERAL (
    SELECT min(lease_until) AS until_first, max(lease_until) AS until_last
    FROM deliveries
    WHERE webhook_id = webhooks.id
      AND lease_owner IS NOT NULL
      AND lease_until > (SELECT ms FROM now)
      AND status = 'pending'
) AS held
LEFT JOIN LATERAL (
    SELECT next_attempt_at AS at
    FROM deliveries
    WHERE webhook_id = webhooks.id
      AND status = 'pending'
      AND lease_until <= (SELECT ms FROM now)
    ORDER BY next_attempt_at, id
    LIMIT 1
) AS free ON true
CROSS JOIN LATERAL (SELECT least(free.at, held.until_first) AS at) AS next
WHERE enabled
  AND deleted_at IS NULL
  AND webhooks.id <> ALL($1)
  AND next.at IS NOT NULL";

/// Prolongs leases; returns those that are lost. One statement, unless some were not renewed; a worker has one name.
pub(super) async fn renew(
    client: &Client,
    leases: &[(DeliveryId, Lease)],
    lease: Duration,
) -> Result<Vec<DeliveryId>, Error> {
    let mut by_owner: BTreeMap<&str, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
    for (id, held) in leases {
        let (ids, fences) = by_owner.entry(&held.owner).or_default();
        ids.push(id.0);
        fences.push(held.fence);
    }
    let (mut lost, until) = (Vec::new(), millis(lease));
    for (owner, (ids, fences)) in &by_owner {
        let renewed = match execute(client, RENEW, &[owner, ids, fences, &until]).await {
            Err(error) if is_locked(&error) || is_circle(&error) => None,
            renewed => Some(renewed?),
        };
        if renewed.and_then(|renewed| usize::try_from(renewed).ok()) == Some(ids.len()) {
            continue;
        }
        let held = query(client, HELD, &[owner, ids, fences]).await?;
        let left_out = held.iter().filter(|row| renewed.is_none() || row.get::<_, bool>(2));
        let left_out = left_out.map(|row| (row.get::<_, i64>(0), row.get::<_, i64>(1)));
        let (left_ids, left_fences): (Vec<i64>, Vec<i64>) = left_out.unzip();
        if !left_ids.is_empty() {
            execute(client, RENEW_UNLOCKED, &[owner, &left_ids, &left_fences, &until]).await?;
        }
        let held: HashSet<i64> = held.iter().map(|row| row.get(0)).collect();
        lost.extend(ids.iter().filter(|id| !held.contains(id)).map(|id| DeliveryId(*id)));
    }
    Ok(lost)
}

/// True if any was given back.
pub(super) async fn release(client: &Client, leases: &[(DeliveryId, Lease)]) -> Result<bool, Error> {
    let (ids, owners, fences) = polls::columns_of(leases.iter().map(|(id, lease)| (id.0, lease)));
    Ok(execute(client, RELEASE, &[&ids, &owners, &fences]).await? > 0)
}

pub(super) async fn next_in(client: &Client, but_not_to: &[WebhookId]) -> Result<Option<Duration>, Error> {
    let but_not_to: Vec<i64> = but_not_to.iter().map(|id| id.0).collect();
    let row = query_opt(client, NEXT, &[&but_not_to, &i64::from(BROKEN_AFTER)]).await?;
    let next_in = row.and_then(|row| row.get::<_, Option<i64>>(0));
    Ok(next_in.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0))))
}
