//! The rows of deliveries whose attempts ended, and the log of those, written. What is in them was decided elsewhere.

use std::borrow::Cow;

use deadpool_postgres::GenericClient;
use domain::{
    delivery::{ANSWER_BYTES_MAX, ATTEMPTS_KEPT_MAX, AttemptOutcome, Consequence},
    figures::{Series, attempt_series},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, execute,
    feeds::polls,
    outbox::delivery_mark_locks::lock_timeout,
    query,
    shared::values::{ERROR_BYTES_MAX, beginning, millis},
};

/// Marks deliveries, keeps the log of their attempts, and counts these, for the accounts of their webhooks and for the
/// server. The first webhooks are those that are well again by this, and each row has the accounts of those that are; they are
/// locked before the deliveries, as everywhere. None is well by what its old receiver took. Where the time is given all
/// is locked already; otherwise what others have locked is waited for a moment, and this is over with the statement.
const MARK: &str = concat!(
    "
WITH lock_wait AS MATERIALIZED (
    SELECT set_config('lock_timeout', '",
    lock_timeout!(),
    "', true)
    WHERE $2::bigint IS NULL
),
sick AS MATERIALIZED (
    SELECT id, url
    FROM webhooks
    WHERE id = ANY($1)
      AND failing_since IS NOT NULL
      AND (SELECT count(*) FROM lock_wait) >= 0
    ORDER BY id
    FOR NO KEY UPDATE
),
held AS MATERIALIZED (
    SELECT given.*
    FROM deliveries
    JOIN unnest($3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[],
                $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::bigint[],
                $16::bigint[]) WITH ORDINALITY
        AS given (id, owner, fence, status, counted, next_in, number, duration_ms, answered, answer, error, url,
                  outcome_series, latency_series, place)
        ON deliveries.id = given.id
        AND deliveries.lease_owner = given.owner
        AND deliveries.lease_fence = given.fence
    WHERE deliveries.status = 'pending'
      AND (SELECT count(*) FROM sick) >= 0
    ORDER BY deliveries.id
    FOR NO KEY UPDATE OF deliveries
),
now AS MATERIALIZED (SELECT coalesce($2, pirssonite_now_ms()) AS ms FROM (SELECT count(*) FROM held) AS after_the_wait),
marked AS (
    UPDATE deliveries
    SET status = held.status,
        attempts = attempts + held.counted,
        logged = logged + 1,
        is_tried = true,
        next_attempt_at = CASE WHEN held.status = 'pending' THEN now.ms + held.next_in ELSE next_attempt_at END,
        last_status = held.answered,
        last_error = held.error,
        ended_at = CASE WHEN held.status <> 'pending' THEN now.ms END,
        lease_owner = NULL,
        lease_until = 0,
        lease_fence = lease_fence + 1
    FROM now, held
    WHERE deliveries.id = held.id
    RETURNING deliveries.id, deliveries.webhook_id, deliveries.logged, held.url, held.place, held.number,
              now.ms - held.duration_ms AS at, held.duration_ms, held.answered, held.answer, held.error,
              held.outcome_series, held.latency_series
),
logs AS (
    INSERT INTO attempts (delivery_id, place, number, at, duration_ms, status, answer, error)
    SELECT id, logged, number, at, duration_ms, answered, answer, error
    FROM marked
),
mended AS (
    UPDATE webhooks
    SET failures = 0,
        failing_since = NULL,
        failed_at = NULL,
        probes = 0,
        probe_at = NULL,
        probe_new_at = NULL
    WHERE id IN (SELECT sick.id FROM sick JOIN marked ON marked.webhook_id = sick.id AND marked.url = sick.url)
    RETURNING account_id
),
of_webhooks AS (
    SELECT webhook_id, outcome_series, latency_series, count(*) AS count
    FROM marked
    GROUP BY webhook_id, outcome_series, latency_series
),
figures AS (
    INSERT INTO figures_by_minute (account_id, series, minute, backend, count)
    SELECT owners.account_id, counted.series, now.ms / 60000, pg_backend_pid(), sum(of_webhooks.count)
    FROM now, of_webhooks
    LEFT JOIN webhooks ON webhooks.id = webhook_id AND deleted_at IS NULL
    CROSS JOIN LATERAL (VALUES (outcome_series), (latency_series)) AS counted (series)
    CROSS JOIN LATERAL (VALUES (0), (webhooks.account_id)) AS owners (account_id)
    WHERE owners.account_id IS NOT NULL
    GROUP BY owners.account_id, counted.series, now.ms
    ON CONFLICT (account_id, series, minute, backend) DO UPDATE
    SET count = figures_by_minute.count + excluded.count
)
SELECT marked.place, marked.id, marked.logged, ARRAY(SELECT DISTINCT account_id FROM mended)
FROM marked"
);

const FORGET: &str = include_str!("sql/delivery_mark_rows_forget.sql");

/// A mark, and what it leads to.
pub(crate) type Decided<'f> = (&'f AttemptOutcome, Consequence);

/// Writes marks and logs. Of these webhooks, those of which something has arrived are well.
pub(crate) async fn mark(
    client: &impl GenericClient,
    decided: &[Decided<'_>],
    well: &[i64],
    now: Option<i64>,
) -> Result<Vec<Row>, Error> {
    let (ids, owners, fences) = polls::columns_of(decided.iter().map(|(one, _)| (one.id.0, &one.lease)));
    let statuses: Vec<&str> = decided.iter().map(|(_, consequence)| consequence.status.name()).collect();
    let counted: Vec<i64> = decided.iter().map(|(_, consequence)| i64::from(consequence.is_counted)).collect();
    let next_in: Vec<i64> = decided.iter().map(|(_, consequence)| millis(consequence.next_in)).collect();
    let urls: Vec<&str> = decided.iter().map(|(one, _)| one.url.as_str()).collect();
    let logs: Vec<_> = decided.iter().map(|(one, _)| &one.attempt).collect();
    let numbers: Vec<i64> = logs.iter().map(|log| i64::from(log.number)).collect();
    let durations: Vec<i64> = logs.iter().map(|log| millis(log.duration)).collect();
    let answered: Vec<Option<i64>> = logs.iter().map(|log| log.status_code.map(i64::from)).collect();
    let answers: Vec<_> = logs.iter().map(|log| cut(log.answer.as_ref(), ANSWER_BYTES_MAX)).collect();
    let errors: Vec<_> = logs.iter().map(|log| cut(log.error.as_ref(), ERROR_BYTES_MAX)).collect();
    let series = decided
        .iter()
        .map(|(one, consequence)| attempt_series(consequence.status, one.attempt.duration).map(Series::number).into());
    let (outcomes, latencies): (Vec<i64>, Vec<i64>) = series.unzip();
    let values: Params<'_> = &[
        &well, &now, &ids, &owners, &fences, &statuses, &counted, &next_in, &numbers, &durations, &answered, &answers,
        &errors, &urls, &outcomes, &latencies,
    ];
    query(client, MARK, values).await
}

/// Only probes of a broken receiver can be so many.
pub(crate) async fn forget(client: &impl GenericClient, marked: &[Row]) -> Result<(), Error> {
    let kept = i64::from(ATTEMPTS_KEPT_MAX);
    let logged = marked.iter().map(|row| (row.get::<_, i64>(1), row.get::<_, i64>(2)));
    let (ids, logged): (Vec<i64>, Vec<i64>) = logged.filter(|(_, logged)| *logged > kept).unzip();
    if ids.is_empty() {
        return Ok(());
    }
    execute(client, FORGET, &[&ids, &logged, &kept]).await.map(drop)
}

fn cut(value: Option<&String>, bytes_max: usize) -> Option<Cow<'_, str>> {
    value.map(|value| beginning(value, bytes_max))
}
