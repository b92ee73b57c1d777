//! Claims of deliveries that are due.
//!
//! A claim never waits: it skips rows that others hold just now. It is guarded twice, by the row's lock while it is made
//! and by `lease_until` afterwards.

use std::time::Duration;

use deadpool_postgres::Client;
use domain::{
    DeliveryId, EventId, Lease, WebhookId,
    delivery::{BROKEN_AFTER, ClaimRoom, Claimed, DeliveryJob, EventType, PAYLOAD_INLINE_MAX, Webhook, public_id},
};
use tokio_postgres::{Error, Row};

use super::{
    Params,
    errors::reason,
    execute, query, query_opt,
    values::{Parsed, millis, small, time, total},
    webhook_rows::{columns, readable_at},
};

/// Each webhook's due rows are walked from their start, twice: to see how many of them have their turn, which the first
/// of each webhook has before the second of any, and to lock so many. So nothing is locked that is not claimed, and where others have locked some, the next
/// are taken.
///
/// A broken webhook's row is locked before it is looked whether anybody sends to it, and that look sees all that was
/// committed before the lock: of two nodes one sends the probe. That is, of those due last, the row that was tried least:
/// what is due for longest may be just what the receiver refuses.
const CLAIM: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
enabled AS MATERIALIZED (
    SELECT webhooks.id, failures, least(coalesce(given.room, $6), $3) AS room
    FROM webhooks
    LEFT JOIN unnest($4::bigint[], $5::bigint[]) AS given (id, room) ON given.id = webhooks.id
    WHERE enabled
      AND deleted_at IS NULL
),
broken AS MATERIALIZED (
    SELECT webhooks.id
    FROM webhooks
    WHERE webhooks.id = ANY(ARRAY(SELECT id FROM enabled WHERE failures >= $7 AND room > 0))
      AND enabled
      AND deleted_at IS NULL
      AND failures >= $7
      AND (probe_at IS NULL OR probe_at <= (SELECT ms FROM now))
      AND (
          -- The first of its range in the index, whatever the planner thinks of the others.
          SELECT next_attempt_at
          FROM deliveries
          WHERE deliveries.webhook_id = webhooks.id
            AND status = 'pending'
          ORDER BY next_attempt_at, id
          LIMIT 1
      ) <= (SELECT ms FROM now)
    FOR NO KEY UPDATE SKIP LOCKED
),
open AS MATERIALIZED (
    SELECT id, false AS is_probe, room
    FROM enabled
    WHERE failures < $7
      AND room > 0
    UNION ALL
    SELECT id, true, 1
    FROM broken
    WHERE NOT pirssonite_is_held(id, (SELECT ms FROM now))
),
due AS MATERIALIZED (
    SELECT open.id AS webhook_id, is_probe, first.id, first.next_attempt_at, first.turn
    FROM open
    CROSS JOIN LATERAL (
        SELECT id, next_attempt_at, row_number() OVER (ORDER BY next_attempt_at, id) AS turn
        FROM deliveries
        WHERE webhook_id = open.id
          AND status = 'pending'
          AND next_attempt_at <= (SELECT ms FROM now)
          AND lease_until <= (SELECT ms FROM now)
        ORDER BY next_attempt_at, id
        LIMIT open.room
    ) AS first
    WHERE NOT is_probe
    UNION ALL
    SELECT open.id, is_probe, newest.id, newest.next_attempt_at, 1
    FROM open
    CROSS JOIN LATERAL (
        SELECT id, next_attempt_at
        FROM (
            SELECT id, next_attempt_at, logged
            FROM deliveries
            WHERE webhook_id = open.id
              AND status = 'pending'
              AND next_attempt_at <= (SELECT ms FROM now)
              AND lease_until <= (SELECT ms FROM now)
            ORDER BY next_attempt_at DESC, id DESC
            LIMIT 100
        ) AS last
        ORDER BY logged, id DESC
        LIMIT 1
    ) AS newest
    WHERE is_probe
),
placed AS MATERIALIZED (
    SELECT webhook_id, is_probe, id, row_number() OVER (ORDER BY turn, next_attempt_at, id) AS place
    FROM due
),
share AS MATERIALIZED (
    SELECT webhook_id, is_probe, count(*) AS room, min(id) AS probe
    FROM placed
    WHERE place <= $3
    GROUP BY webhook_id, is_probe
),
locked AS MATERIALIZED (
    SELECT first.id
    FROM share
    CROSS JOIN LATERAL (
        SELECT id
        FROM deliveries
        WHERE webhook_id = share.webhook_id
          AND status = 'pending'
          AND next_attempt_at <= (SELECT ms FROM now)
          AND lease_until <= (SELECT ms FROM now)
        ORDER BY next_attempt_at, id
        LIMIT share.room
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS first
    WHERE NOT is_probe
),
probed AS MATERIALIZED (
    SELECT id
    FROM deliveries
    WHERE id = ANY(ARRAY(SELECT probe FROM share WHERE is_probe))
      AND status = 'pending'
      AND lease_until <= (SELECT ms FROM now)
    FOR NO KEY UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE deliveries
    SET lease_owner = $1,
        lease_until = (SELECT ms FROM now) + $2,
        lease_fence = lease_fence + 1
    WHERE id = ANY(ARRAY(SELECT id FROM locked UNION ALL SELECT id FROM probed))
    RETURNING id, lease_owner, lease_fence, webhook_id, event_id, attempts, next_attempt_at
),
ordered AS MATERIALIZED (
    SELECT claimed.*, is_probe,
           row_number() OVER (PARTITION BY claimed.webhook_id ORDER BY next_attempt_at, claimed.id) AS turn
    FROM claimed
    JOIN share ON share.webhook_id = claimed.webhook_id
)
SELECT ordered.id, ordered.lease_owner, ordered.lease_fence, ordered.webhook_id, ordered.event_id, ordered.attempts,
       ordered.is_probe, event.type, event.created_at, event.size, event.data, ",
    columns!(),
    "
FROM ordered
LEFT JOIN LATERAL (
    SELECT type, created_at, size, CASE WHEN size <= $8 THEN data END AS data
    FROM events
    WHERE events.id = ordered.event_id
    LIMIT 1
) AS event ON true
LEFT JOIN webhooks ON webhooks.id = ordered.webhook_id AND ordered.turn = 1
ORDER BY ordered.turn, ordered.next_attempt_at, ordered.id"
);

/// A delivery whose event nobody can read can never be sent.
const SET_ASIDE: &str = "
WITH held AS MATERIALIZED (
    SELECT deliveries.id
    FROM deliveries
    JOIN unnest($2::bigint[], $3::bigint[]) AS given (id, fence)
        ON deliveries.id = given.id
        AND deliveries.lease_fence = given.fence
    WHERE deliveries.lease_owner = $1
      AND deliveries.status = 'pending'
    ORDER BY deliveries.id
    FOR NO KEY UPDATE OF deliveries
)
UPDATE deliveries
SET status = 'failed',
    last_error = 'its event is gone',
    ended_at = (SELECT pirssonite_now_ms()),
    lease_owner = NULL,
    lease_until = 0
WHERE id = ANY(ARRAY(SELECT id FROM held))";

/// Where in a row its webhook begins, which the first job of each webhook has.
const WEBHOOK_AT: usize = 11;

pub(super) async fn claim(
    client: &Client,
    owner: &str,
    lease: Duration,
    room: &ClaimRoom,
    installation: &str,
) -> Result<Claimed, Error> {
    if room.limit == 0 {
        return Ok(Claimed::default());
    }
    let (webhooks, rooms): (Vec<i64>, Vec<i64>) = room.of.iter().map(|(id, room)| (id.0, i64::from(*room))).unzip();
    let [limit, of_others, broken] = [room.limit, room.of_others, BROKEN_AFTER].map(i64::from);
    let inline = total(PAYLOAD_INLINE_MAX);
    let values: Params<'_> = &[&owner, &millis(lease), &limit, &webhooks, &rooms, &of_others, &broken, &inline];
    let rows = query(client, CLAIM, values).await?;
    set_aside(client, owner, &rows).await;
    Ok(claimed_of(&rows, installation))
}

/// Deliveries whose events nobody can read. That this fails stops nothing: they come again when their leases have run
/// out.
async fn set_aside(client: &Client, owner: &str, rows: &[Row]) {
    let unreadable = rows.iter().filter(|row| kind_of(row).is_err());
    let (ids, fences): (Vec<i64>, Vec<i64>) =
        unreadable.map(|row| (row.get::<_, i64>(0), row.get::<_, i64>(2))).unzip();
    if ids.is_empty() {
        return;
    }
    tracing::error!(deliveries = ?ids, "the events of deliveries are gone, or of a kind that is not known");
    if let Err(error) = execute(client, SET_ASIDE, &[&owner, &ids, &fences]).await {
        tracing::warn!(error = reason(&error), "deliveries whose events are gone could not be set aside");
    }
}

/// What cannot be read does not stop the rest. If that is a webhook, its deliveries come again when their leases have run
/// out.
fn claimed_of(rows: &[Row], installation: &str) -> Claimed {
    let firsts = rows.iter().filter(|row| row.get::<_, Option<i64>>(WEBHOOK_AT).is_some());
    let webhooks: Vec<Webhook> = firsts.filter_map(|row| readable_at(row, WEBHOOK_AT)).collect();
    let is_known = |job: &DeliveryJob| webhooks.iter().any(|webhook| webhook.id == job.webhook_id);
    let jobs = rows.iter().filter_map(|row| job_of(row, installation).ok()).filter(is_known).collect();
    Claimed { jobs, webhooks }
}

/// What an event is about, however large.
pub(super) async fn event_data(client: &Client, event: EventId) -> Result<Option<String>, Error> {
    let row = query_opt(client, "SELECT data FROM events WHERE id = $1", &[&event.0]).await?;
    Ok(row.map(|row| row.get(0)))
}

fn job_of(row: &Row, installation: &str) -> Result<DeliveryJob, Error> {
    let (event, kind) = (row.get(4), kind_of(row)?);
    Ok(DeliveryJob {
        id: DeliveryId(row.get(0)),
        lease: Lease { owner: row.get(1), fence: row.get(2) },
        webhook_id: WebhookId(row.get(3)),
        event: EventId(event),
        event_id: public_id("evt", installation, event),
        kind,
        happened_at: time(row.get(8)),
        data: row.get(10),
        size: usize::try_from(row.get::<_, i64>(9)).unwrap_or(0),
        attempts: small(row.get(5)),
        is_probe: row.get(6),
    })
}

/// An error too if there is no event.
fn kind_of(row: &Row) -> Result<EventType, Error> {
    row.try_get::<_, Parsed<EventType>>(7).map(|kind| kind.0)
}
