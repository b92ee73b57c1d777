//! Leases of deliveries: their beats, the way back, and when the next can be claimed.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use deadpool_postgres::Client;
use domain::{DeliveryId, Lease, WebhookId};
use tokio_postgres::Error;

use crate::postgres::{
    Params, PostgresStore, execute,
    feeds::polls,
    outbox::delivery_claims::{bounds_of, candidates, found, known_types, queues},
    query, query_opt,
    shared::{claim_bounds, values::millis},
    timing,
};

const RENEW: &str = include_str!("sql/delivery_leases_renew.sql");

const HELD: &str = include_str!("sql/delivery_leases_held.sql");

const RELEASE: &str = include_str!("sql/delivery_leases_release.sql");

/// How long until a delivery can be claimed: when the first row without a lease is due in a queue of a webhook, or when a
/// lease ends. Leases are read by a whole scan alone, and of webhooks whose breaker is open: no probe goes out before they
/// have ended.
const NEXT: &str = concat!(
    "
WITH RECURSIVE now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms, last_value - (NOT is_called)::int AS last_id FROM deliveries_id_seq),",
    candidates!("$10", "$11", "$2", "$3"),
    ",
enabled AS MATERIALIZED (
    SELECT webhooks.*
    FROM candidates
    CROSS JOIN LATERAL (SELECT * FROM webhooks WHERE id = candidates.webhook_id LIMIT 1) AS webhooks
    WHERE enabled
      AND deleted_at IS NULL
      AND id <> ALL($1)
),
queues AS MATERIALIZED (",
    queues!("enabled", "$4", "$2", "$3", "$5::bigint[], $6::boolean[], $7::bigint[], $8::bigint[]"),
    "
),
free AS MATERIALIZED (
    SELECT queues.webhook_id, min(first.at) FILTER (WHERE NOT is_tried) AS new_at,
           min(first.at) FILTER (WHERE is_tried) AS tried_at
    FROM queues
    CROSS JOIN LATERAL (
        SELECT next_attempt_at AS at
        FROM deliveries
        WHERE webhook_id = queues.webhook_id
          AND is_tried = queues.is_tried
          AND status = 'pending'
          AND (next_attempt_at, id) > (queues.after_at, queues.after_id)
          -- 60000: clock::LEASE_SLACK_MS.
          AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000)
          AND coalesce((SELECT type = ANY($9) FROM events WHERE events.id = event_id), true)
        ORDER BY next_attempt_at, id
        LIMIT 1
    ) AS first
    GROUP BY queues.webhook_id
)
SELECT min(
           greatest(
               next.at,
               held_until,
               CASE WHEN rate.taken_ms <= rate.burst_ms + 1 THEN ceil(rate.taken_ms - rate.burst_ms + rate.spacing_ms) END
                   + (SELECT ms FROM now)
           )
       )::bigint - (SELECT ms FROM now),
       (SELECT ms FROM now),
       (SELECT last_id FROM now),
       (SELECT array_agg(webhook_id) FROM candidates)
FROM enabled
LEFT JOIN free ON free.webhook_id = enabled.id
CROSS JOIN LATERAL (
    SELECT min(lease_until) AS until_first, max(lease_until) AS until_last
    FROM deliveries
    WHERE webhook_id = enabled.id
      AND lease_owner IS NOT NULL
      AND lease_until > (SELECT ms FROM now)
      -- 60000: clock::LEASE_SLACK_MS.
      AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000
      AND status = 'pending'
      AND (probe_at IS NOT NULL OR NOT ((SELECT ms FROM now) >= $2 AND (SELECT ms FROM now) < $3))
) AS held
CROSS JOIN LATERAL (
    SELECT CASE
               WHEN probe_at IS NULL THEN least(free.new_at, free.tried_at, held.until_first)
               ELSE greatest(
                   least(
                       CASE WHEN free.new_at IS NOT NULL THEN greatest(free.new_at, probe_new_at) END,
                       CASE WHEN free.tried_at IS NOT NULL THEN greatest(free.tried_at, probe_at) END,
                       held.until_first
                   ),
                   held.until_last
               )
           END AS at
) AS next
CROSS JOIN LATERAL (
    -- The arithmetic of domain::delivery::Rate: rates are stored in thousandths, 100 is BURST_MS.
    SELECT rate_at - (SELECT ms FROM now) AS taken_ms, 1000000.0::double precision / rate_per_second AS spacing_ms,
           greatest(100, 1000000.0::double precision / rate_per_second) AS burst_ms
) AS rate
WHERE next.at IS NOT NULL"
);

/// Prolongs leases; returns those that are lost. One statement, unless some were not renewed; a worker has one name.
pub(crate) async fn renew(
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
        let renewed = execute(client, RENEW, &[owner, ids, fences, &until]).await?;
        if usize::try_from(renewed).is_ok_and(|renewed| renewed == ids.len()) {
            continue;
        }
        let held = query(client, HELD, &[owner, ids, fences]).await?;
        let held: HashSet<i64> = held.iter().map(|row| row.get(0)).collect();
        lost.extend(ids.iter().filter(|id| !held.contains(id)).map(|id| DeliveryId(*id)));
    }
    Ok(lost)
}

/// True if any was released. The next claims begin before them.
pub(crate) async fn release(
    store: &PostgresStore,
    client: &Client,
    leases: &[(DeliveryId, Lease)],
) -> Result<bool, Error> {
    let (ids, owners, fences) = polls::columns_of(leases.iter().map(|(id, lease)| (id.0, lease)));
    let released = query(client, RELEASE, &[&ids, &owners, &fences]).await?;
    let mut bounds = claim_bounds::lock(&store.bounds.deliveries);
    for row in &released {
        bounds.released(&(row.get(0), row.get(1)), (row.get(2), row.get(3)));
    }
    Ok(!released.is_empty())
}

pub(crate) async fn next_in(
    store: &PostgresStore,
    client: &Client,
    but_not_to: &[WebhookId],
) -> Result<Option<Duration>, Error> {
    let but_not_to: Vec<i64> = but_not_to.iter().map(|id| id.0).collect();
    let scan = claim_bounds::lock(&store.bounds.deliveries).look();
    let candidates = store.bounds.pending().candidates();
    let ((webhooks, queues, after_at, after_id), known) = (bounds_of(&scan), known_types());
    let (from, until) = (scan.bounded_from_ms, scan.bounded_until_ms);
    let values: Params<'_> = &[
        &but_not_to,
        &from,
        &until,
        &i64::MIN,
        &webhooks,
        &queues,
        &after_at,
        &after_id,
        &known,
        &candidates.known,
        &candidates.after_id,
    ];
    let Some(row) = query_opt(client, NEXT, values).await? else { return Ok(None) };
    let found = found(&scan, (row.get(1), row.get(2), row.get(3)));
    store.bounds.pending().found(&candidates, found);
    let timing = timing(client, &scan, row.get(1)).await;
    claim_bounds::lock(&store.bounds.deliveries).looked(&scan, timing);
    let next_in = row.get::<_, Option<i64>>(0);
    Ok(next_in.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0))))
}
