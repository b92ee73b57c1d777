//! Claims of deliveries that are due.
//!
//! A claim never waits: it skips rows that others hold just now. It is guarded twice, by the row's lock while it is made
//! and by `lease_until` afterwards. A webhook has two queues: rows that were never tried, and rows that were.

use std::{collections::HashMap, time::Duration};

use deadpool_postgres::Client;
use domain::{
    DeliveryId, EventId, FolderId, Lease, WebhookId,
    delivery::{
        ClaimLimits, Claimed, DeliveryJob, EventType, FollowerView, PAYLOAD_INLINE_MAX, PROBE_NEW_AFTER,
        PROBES_A_ROUND, Webhook, public_id,
    },
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore, execute,
    outbox::{
        pending_webhooks,
        webhook_rows::{columns, readable_at},
    },
    query_opt,
    shared::{
        claim_bounds::{self, Position, Scan, Timing},
        errors::reason,
        plan::query_planned_once,
        values::{DUE_FIRST_MS, Parsed, millis, time, to_u32, usize_to_i64},
    },
    timing,
};

/// A webhook, and whether the queue is that of rows that were tried before.
pub(crate) type QueueKey = (i64, bool);

/// What is due in a queue of `queues`, free, and of an event that this version knows. An event that is gone is known: its
/// delivery is set aside.
macro_rules! due {
    () => {
        "
        FROM deliveries
        WHERE webhook_id = queues.webhook_id
          AND is_tried = queues.is_tried
          AND status = 'pending'
          AND next_attempt_at <= (SELECT ms FROM now)
          AND (next_attempt_at, id) > (queues.after_at, queues.after_id)
          -- 60000: clock::LEASE_SLACK_MS.
          AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000)
          AND coalesce((SELECT type = ANY($8) FROM events WHERE events.id = event_id), true)"
    };
}

/// The webhooks that a scan looks at: those for which something waits, as far as is known, and those of new deliveries; all
/// for which something waits, if the scan is whole, by steps from one to the next (`pending_webhooks.rs`). The places of the
/// values: who is known, the id after which deliveries are new, and from when until when the scan is bounded.
macro_rules! candidates {
    ($known:literal, $after_id:literal, $from:literal, $until:literal) => {
        concat!(
            "
pending (webhook_id) AS (
    SELECT (
        SELECT webhook_id
        FROM deliveries
        WHERE status = 'pending'
        ORDER BY webhook_id
        LIMIT 1
    )
    WHERE ",
            $known,
            "::bigint[] IS NULL
       OR (SELECT ms FROM now) < ",
            $from,
            "
       OR (SELECT ms FROM now) >= ",
            $until,
            "
    UNION ALL
    SELECT (
        SELECT webhook_id
        FROM deliveries
        WHERE status = 'pending'
          AND webhook_id > pending.webhook_id
        ORDER BY webhook_id
        LIMIT 1
    )
    FROM pending
    WHERE pending.webhook_id IS NOT NULL
),
new AS MATERIALIZED (
    SELECT webhook_id
    FROM deliveries
    WHERE id > ",
            $after_id,
            "
      AND NOT EXISTS (SELECT FROM pending)
    ORDER BY id
    LIMIT 10000
),
candidates AS MATERIALIZED (
    SELECT webhook_id
    FROM pending
    WHERE webhook_id IS NOT NULL
    UNION
    SELECT known
    FROM unnest(",
            $known,
            "::bigint[]) AS known
    WHERE NOT EXISTS (SELECT FROM pending)
    UNION
    SELECT webhook_id
    FROM new
)"
        )
    };
}
pub(crate) use candidates;

/// Where the scan of each queue of these webhooks begins; from the start if it is whole. The places of the values: the
/// smallest number, from when until when the scan is bounded, and the bounds.
macro_rules! queues {
    ($webhooks:literal, $min:literal, $from:literal, $until:literal, $bounds:literal) => {
        concat!(
            "
    SELECT webhooks.id AS webhook_id, queue.is_tried, coalesce(bound.after_at, ",
            $min,
            ") AS after_at, coalesce(bound.after_id, ",
            $min,
            ") AS after_id
    FROM ",
            $webhooks,
            " AS webhooks
    CROSS JOIN (VALUES (false), (true)) AS queue (is_tried)
    LEFT JOIN unnest(",
            $bounds,
            ") AS bound (webhook_id, is_tried, after_at, after_id)
        ON bound.webhook_id = webhooks.id
        AND bound.is_tried = queue.is_tried
        AND (SELECT ms FROM now) >= ",
            $from,
            "
        AND (SELECT ms FROM now) < ",
            $until
        )
    };
}
pub(crate) use queues;

/// Each queue's due rows are walked from their start, twice: to see how many of them have their turn, which the first of
/// each webhook has before the second of any, and to lock so many. So nothing is locked that is not claimed, and where
/// others have locked some, the next are taken.
///
/// The rows of webhooks whose breaker is open, or that have a rate, are locked before it is looked whether anybody sends
/// to them, or how much of the rate is left: of two nodes one sends the probe, and what both send together keeps to the
/// rate.
const CLAIM: &str = concat!(
    "
WITH RECURSIVE now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms, last_value - (NOT is_called)::int AS last_id FROM deliveries_id_seq),",
    candidates!("$20", "$21", "$12", "$13"),
    ",
enabled AS MATERIALIZED (
    SELECT webhooks.id, probe_at IS NOT NULL OR rate_per_second IS NOT NULL AS is_gated,
           least(coalesce(given.rows_max, $6), $3) AS rows_max, account_id
    FROM candidates
    -- Each by itself: the planner takes candidates for many, and would read all webhooks.
    CROSS JOIN LATERAL (SELECT * FROM webhooks WHERE id = candidates.webhook_id LIMIT 1) AS webhooks
    LEFT JOIN unnest($4::bigint[], $5::bigint[]) AS given (id, rows_max) ON given.id = webhooks.id
    WHERE enabled
      AND deleted_at IS NULL
      AND coalesce(held_until, 0) <= (SELECT ms FROM now)
      AND coalesce(given.rows_max, $6) > 0
),
queues AS MATERIALIZED (",
    queues!("enabled", "$14", "$12", "$13", "$15::bigint[], $16::boolean[], $17::bigint[], $18::bigint[]"),
    "
),
gated AS MATERIALIZED (
    SELECT webhooks.id, probe_at, probes, probe_at IS NOT NULL AND probe_at <= (SELECT ms FROM now) AS may_probe_tried,
           -- It is never further away than such a wait is long, unless a clock went back.
           probe_new_at <= (SELECT ms FROM now) OR probe_new_at > (SELECT ms FROM now) + $10 AS may_probe_new,
           rate_per_second, rate_at - (SELECT ms FROM now) AS taken_ms
    FROM webhooks
    WHERE webhooks.id = ANY(ARRAY(SELECT id FROM enabled WHERE is_gated))
      AND enabled
      AND deleted_at IS NULL
      AND coalesce(held_until, 0) <= (SELECT ms FROM now)
      AND EXISTS (
          SELECT
          FROM queues
          WHERE queues.webhook_id = webhooks.id
            AND CASE
                    WHEN probe_at IS NULL THEN true
                    WHEN queues.is_tried THEN probe_at <= (SELECT ms FROM now)
                    ELSE probe_new_at <= (SELECT ms FROM now) OR probe_new_at > (SELECT ms FROM now) + $10
                END
            -- The first of its range in the index, whatever the planner thinks of the others.
            AND (
                SELECT next_attempt_at
                FROM deliveries
                WHERE deliveries.webhook_id = queues.webhook_id
                  AND is_tried = queues.is_tried
                  AND status = 'pending'
                  AND (next_attempt_at, deliveries.id) > (queues.after_at, queues.after_id)
                ORDER BY next_attempt_at, deliveries.id
                LIMIT 1
            ) <= (SELECT ms FROM now)
      )
    FOR NO KEY UPDATE SKIP LOCKED
),
-- The arithmetic of domain::delivery::Rate: 1000000.0 because rates are stored in thousandths, 100 is BURST_MS.
allowed AS MATERIALIZED (
    SELECT gated.*, enabled.rows_max AS given,
           CASE
               WHEN rate_per_second IS NULL THEN enabled.rows_max
               ELSE floor(
                   (burst.ms - CASE WHEN taken_ms > burst.ms + 1 THEN 0 ELSE greatest(taken_ms, 0) END) / spacing.ms
               )
           END AS rows_max
    FROM gated
    JOIN enabled ON enabled.id = gated.id
    CROSS JOIN LATERAL (SELECT 1000000.0::double precision / rate_per_second AS ms) AS spacing
    CROSS JOIN LATERAL (SELECT greatest(100, spacing.ms) AS ms) AS burst
),
closed AS MATERIALIZED (
    SELECT id, rows_max
    FROM enabled
    WHERE NOT is_gated
    UNION ALL
    SELECT id, least(given, rows_max::bigint)
    FROM allowed
    WHERE probe_at IS NULL
      AND rows_max >= 1
),
probing AS MATERIALIZED (
    SELECT id, probes, may_probe_new, may_probe_tried
    FROM allowed
    WHERE probe_at IS NOT NULL
      AND rows_max >= 1
      AND NOT pirssonite_is_held(id, (SELECT ms FROM now))
),
probe_new AS MATERIALIZED (
    SELECT queues.webhook_id, chosen.id, chosen.next_attempt_at
    FROM probing
    JOIN queues ON queues.webhook_id = probing.id AND NOT queues.is_tried
    CROSS JOIN LATERAL (
        SELECT id, next_attempt_at
        FROM (
            (
                SELECT id, next_attempt_at, true AS is_test",
    due!(),
    "
                  AND next_attempt_at = $19
                ORDER BY next_attempt_at, id
                LIMIT 1
            )
            UNION ALL
            (
                SELECT id, next_attempt_at, false",
    due!(),
    "
                ORDER BY next_attempt_at DESC, id DESC
                LIMIT 1
            )
        ) AS choice
        ORDER BY is_test DESC
        LIMIT 1
    ) AS chosen
    WHERE may_probe_new
),
probe_tried AS MATERIALIZED (
    SELECT queues.webhook_id, chosen.id, chosen.next_attempt_at
    FROM probing
    JOIN queues ON queues.webhook_id = probing.id AND queues.is_tried
    CROSS JOIN LATERAL (
        SELECT id, next_attempt_at
        FROM (
            (
                SELECT id, next_attempt_at, logged",
    due!(),
    "
                ORDER BY next_attempt_at, id
                -- PROBE_CHOICE of the other store, here and below.
                LIMIT 100
            )
            UNION
            (
                SELECT id, next_attempt_at, logged",
    due!(),
    "
                ORDER BY next_attempt_at DESC, id DESC
                LIMIT 100
            )
        ) AS ends
        ORDER BY CASE WHEN probes % $11 = $11 - 1 THEN logged ELSE -logged END, next_attempt_at, id
        LIMIT 1
    ) AS chosen
    WHERE may_probe_tried
      AND probing.id NOT IN (SELECT webhook_id FROM probe_new)
),
due AS MATERIALIZED (
    SELECT queues.webhook_id, queues.is_tried, closed.rows_max, first.id, first.next_attempt_at,
           count(*) OVER (PARTITION BY queues.webhook_id, queues.is_tried) AS found,
           row_number() OVER (
               PARTITION BY queues.webhook_id
               -- Tests go before all else.
               ORDER BY first.next_attempt_at <> $19, first.place, queues.is_tried <> (queues.webhook_id = ANY($9))
           ) AS turn
    FROM closed
    JOIN queues ON queues.webhook_id = closed.id
    CROSS JOIN LATERAL (
        SELECT id, next_attempt_at, row_number() OVER (ORDER BY next_attempt_at, id) AS place",
    due!(),
    "
        ORDER BY next_attempt_at, id
        LIMIT closed.rows_max
    ) AS first
),
placed AS MATERIALIZED (
    SELECT webhook_id, is_tried, id, is_probe, found, found >= rows_max AS is_cut,
           row_number() OVER (ORDER BY turn, next_attempt_at, id) AS place
    FROM (
        SELECT webhook_id, is_tried, id, next_attempt_at, turn, false AS is_probe, found, rows_max
        FROM due
        WHERE turn <= rows_max
        UNION ALL
        SELECT webhook_id, false, id, next_attempt_at, 1, true, 1, 1
        FROM probe_new
        UNION ALL
        SELECT webhook_id, true, id, next_attempt_at, 1, true, 1, 1
        FROM probe_tried
    ) AS candidates
),
share AS MATERIALIZED (
    SELECT webhook_id, is_tried, is_probe, count(*) AS rows_max, min(id) AS probe,
           -- More may wait in the queue than have their turn, whoever locks those.
           bool_or(is_cut) OR max(found) > count(*) AS is_full
    FROM placed
    WHERE place <= $3
    GROUP BY webhook_id, is_tried, is_probe
),
locked AS MATERIALIZED (
    SELECT first.id
    FROM share
    JOIN queues ON queues.webhook_id = share.webhook_id AND queues.is_tried = share.is_tried
    CROSS JOIN LATERAL (
        SELECT id",
    due!(),
    "
        ORDER BY next_attempt_at, id
        LIMIT share.rows_max
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS first
    WHERE NOT is_probe
),
probed AS MATERIALIZED (
    SELECT id
    FROM deliveries
    WHERE id = ANY(ARRAY(SELECT probe FROM share WHERE is_probe))
      AND status = 'pending'
      -- 60000: clock::LEASE_SLACK_MS.
      AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000)
    FOR NO KEY UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE deliveries
    SET lease_owner = $1,
        lease_until = (SELECT ms FROM now) + $2,
        lease_ms = $2,
        lease_fence = lease_fence + 1
    WHERE id = ANY(ARRAY(SELECT id FROM locked UNION ALL SELECT id FROM probed))
    RETURNING id, lease_owner, lease_fence, webhook_id, event_id, attempts, logged, is_tried, next_attempt_at
),
taken AS (
    UPDATE webhooks
    SET rate_at = greatest(rate_at, (SELECT ms FROM now))
        + (SELECT count(*) FROM claimed WHERE webhook_id = webhooks.id) * 1000000.0::double precision / rate_per_second
    WHERE id = ANY(ARRAY(SELECT webhook_id FROM claimed))
      AND rate_per_second IS NOT NULL
),
ordered AS MATERIALIZED (
    SELECT claimed.*, share.is_probe, share.is_full,
           row_number() OVER (
               PARTITION BY claimed.webhook_id
               ORDER BY claimed.next_attempt_at <> $19, queue_place, claimed.is_tried <> (claimed.webhook_id = ANY($9))
           ) AS turn
    FROM (
        SELECT *, row_number() OVER (PARTITION BY webhook_id, is_tried ORDER BY next_attempt_at, id) AS queue_place
        FROM claimed
    ) AS claimed
    JOIN share ON share.webhook_id = claimed.webhook_id AND share.is_tried = claimed.is_tried
)
SELECT ordered.id, ordered.lease_owner, ordered.lease_fence, ordered.webhook_id, ordered.event_id, ordered.attempts,
       ordered.is_probe, event.type, event.created_at, event.size, event.data, ordered.logged, ordered.next_attempt_at,
       ordered.is_full, now.ms, event.feed, follow.custom_title, follow.folder_id, state.is_read, state.is_starred,
       event.nonce, now.last_id,
       CASE
           WHEN row_number() OVER (ORDER BY ordered.turn, ordered.next_attempt_at, ordered.id) = 1
               THEN (SELECT array_agg(webhook_id) FROM candidates)
       END, ",
    columns!(),
    "
FROM now
LEFT JOIN ordered ON true
LEFT JOIN LATERAL (
    SELECT type, created_at, size, CASE WHEN size <= $7 THEN data END AS data, feed, feed_id, entry_id, nonce
    FROM events
    WHERE events.id = ordered.event_id
    LIMIT 1
) AS event ON true
LEFT JOIN enabled AS receiver ON receiver.id = ordered.webhook_id
LEFT JOIN LATERAL (
    SELECT custom_title, folder_id
    FROM follows
    WHERE follows.feed_id = event.feed_id
      AND follows.account_id = receiver.account_id
    LIMIT 1
) AS follow ON true
LEFT JOIN LATERAL (
    SELECT is_read, is_starred
    FROM entry_states
    WHERE entry_states.entry_id = event.entry_id
      AND entry_states.account_id = receiver.account_id
    LIMIT 1
) AS state ON true
LEFT JOIN LATERAL (
    SELECT *
    FROM webhooks
    WHERE id = ordered.webhook_id
      AND ordered.turn = 1
    LIMIT 1
) AS webhooks ON true
ORDER BY ordered.turn, ordered.next_attempt_at, ordered.id"
);

const SET_ASIDE: &str = include_str!("sql/delivery_claims_set_aside.sql");

/// Where in a row its webhook begins, which the first job of each webhook has.
const WEBHOOK_AT: usize = 23;

pub(crate) async fn claim(
    store: &PostgresStore,
    client: &mut Client,
    owner: &str,
    lease: Duration,
    limits: &ClaimLimits,
) -> Result<Claimed, Error> {
    if limits.limit == 0 {
        return Ok(Claimed::default());
    }
    let scan = claim_bounds::lock(&store.bounds.deliveries).claim();
    let candidates = store.bounds.pending().candidates();
    let (webhooks, rows_max): (Vec<i64>, Vec<i64>) =
        limits.of.iter().map(|(id, most)| (id.0, i64::from(*most))).unzip();
    let retries_first: Vec<i64> = limits.retries_first.iter().map(|id| id.0).collect();
    let [limit, of_others, round] = [limits.limit, limits.of_others, PROBES_A_ROUND].map(i64::from);
    let (inline, known) = (usize_to_i64(PAYLOAD_INLINE_MAX), known_types());
    let bounds = bounds_of(&scan);
    let values: Params<'_> = &[
        &owner,
        &millis(lease),
        &limit,
        &webhooks,
        &rows_max,
        &of_others,
        &inline,
        &known,
        &retries_first,
        &millis(PROBE_NEW_AFTER),
        &round,
        &scan.bounded_from_ms,
        &scan.bounded_until_ms,
        &i64::MIN,
        &bounds.0,
        &bounds.1,
        &bounds.2,
        &bounds.3,
        &DUE_FIRST_MS,
        &candidates.known,
        &candidates.after_id,
    ];
    let rows = query_planned_once(client, CLAIM, values).await?;
    let Some(first) = rows.first() else { return Ok(Claimed::default()) };
    let found = found(&scan, (first.get(14), first.get(21), first.get(22)));
    store.bounds.pending().found(&candidates, found);
    let timing = timing(client, &scan, first.get(14)).await;
    // The time is there also if nothing was claimed.
    let rows: Vec<Row> = rows.into_iter().filter(|row| row.get::<_, Option<i64>>(0).is_some()).collect();
    move_bounds(store, &scan, timing, &rows);
    set_aside(client, owner, &rows).await;
    Ok(claimed_of(&rows, &store.installation))
}

/// The types of events that this version knows.
pub(crate) fn known_types() -> Vec<&'static str> {
    EventType::ALL.map(EventType::name).to_vec()
}

/// What a scan has found out about who has something waiting: the time, the last id, and those who have.
pub(crate) fn found(
    scan: &Scan<QueueKey>,
    (now_ms, last_id, webhooks): (i64, i64, Option<Vec<i64>>),
) -> pending_webhooks::Found {
    let is_whole = !scan.is_bounded(now_ms);
    pending_webhooks::Found { now_ms, last_id, webhooks: Some(webhooks.unwrap_or_default()), is_whole }
}

/// The bounds of a scan, as columns: webhooks, queues, and the positions behind which they begin.
pub(crate) fn bounds_of(scan: &Scan<QueueKey>) -> (Vec<i64>, Vec<bool>, Vec<i64>, Vec<i64>) {
    let (queues, positions): (Vec<QueueKey>, Vec<Position>) = scan.after.iter().copied().unzip();
    let ((webhooks, is_tried), (after_at, after_id)) = (queues.into_iter().unzip(), positions.into_iter().unzip());
    (webhooks, is_tried, after_at, after_id)
}

/// The next claim begins behind what this one took in order. Probes are not.
fn move_bounds(store: &PostgresStore, scan: &Scan<QueueKey>, timing: Timing, rows: &[Row]) {
    let mut claimed: HashMap<QueueKey, claim_bounds::ClaimedRows> = HashMap::new();
    for row in rows.iter().filter(|row| !row.get::<_, bool>(6)) {
        let queue: QueueKey = (row.get(3), row.get::<_, i64>(11) > 0);
        let position: Position = (row.get(12), row.get(0));
        let of_queue = claimed.entry(queue).or_insert(claim_bounds::ClaimedRows { last: None, is_full: row.get(13) });
        of_queue.last = of_queue.last.max(Some(position));
    }
    claim_bounds::lock(&store.bounds.deliveries).claimed(scan, timing, claimed);
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
    tracing::error!(deliveries = ?ids, "deliveries without events");
    if let Err(error) = execute(client, SET_ASIDE, &[&owner, &ids, &fences]).await {
        tracing::warn!(error = reason(&error), "deliveries without events not marked");
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
pub(crate) async fn event_data(client: &Client, event: EventId) -> Result<Option<String>, Error> {
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
        event_id: public_id("evt", installation, event, row.get(20)),
        kind,
        happened_at: time(row.get(8)),
        feed: row.get(15),
        view: FollowerView {
            custom_title: row.get(16),
            folder_id: row.get::<_, Option<i64>>(17).map(FolderId),
            is_read: row.get::<_, Option<bool>>(18).unwrap_or_default(),
            is_starred: row.get::<_, Option<bool>>(19).unwrap_or_default(),
        },
        data: row.get(10),
        size: usize::try_from(row.get::<_, i64>(9)).unwrap_or(0),
        attempts: to_u32(row.get(5)),
        tries: to_u32(row.get(11)),
        is_probe: row.get(6),
    })
}

/// An error too if there is no event.
fn kind_of(row: &Row) -> Result<EventType, Error> {
    row.try_get::<_, Parsed<EventType>>(7).map(|kind| kind.0)
}
