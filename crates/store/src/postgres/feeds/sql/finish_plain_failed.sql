-- Differs from the other store in that it writes many feeds at once, each guarded by its lease and by the standing that the
-- decision was made on.
--
-- No later than `due_by`, nor than what was requested since the claim, which had cleared `poll_wanted_at`.
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
held AS MATERIALIZED (
    SELECT given.*
    FROM feeds
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],
                $8::bigint[], $9::boolean[], $10::boolean[], $11::bigint[], $12::boolean[], $13::boolean[])
        AS given (id, owner, fence, check_in, adaptive_secs, error, due_by, failures_before, was_failing, was_gone,
                  failure_count, is_failing, is_gone)
        ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
    WHERE feeds.failure_count = given.failures_before
      AND feeds.is_failing = given.was_failing
      AND feeds.is_gone = given.was_gone
    ORDER BY feeds.id
    FOR NO KEY UPDATE OF feeds
),
written AS (
    UPDATE feeds
    SET next_check_at = least(now.ms + held.check_in, CASE WHEN poll_wanted_at > 0 THEN next_check_at END, held.due_by),
        adaptive_secs = held.adaptive_secs,
        failure_count = held.failure_count,
        last_error = held.error,
        is_failing = held.is_failing,
        is_gone = held.is_gone,
        lease_owner = NULL,
        lease_until = 0
    FROM now, held
    WHERE feeds.id = held.id
    RETURNING feeds.id
),
counted AS (
    INSERT INTO figures_by_minute (account_id, series, minute, backend, count)
    SELECT 0, $14::bigint, now.ms / 60000, pg_backend_pid(), count(*)
    FROM now, written
    GROUP BY now.ms
    ON CONFLICT (account_id, series, minute, backend) DO UPDATE
    SET count = figures_by_minute.count + excluded.count
)
SELECT id
FROM written
