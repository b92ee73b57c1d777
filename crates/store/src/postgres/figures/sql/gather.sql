-- Differs from the other store, which moves them one by one (old, add_hour, remove_minute).
-- Other nodes may gather too: each takes what no other has, and hours are locked in one order.
WITH old AS MATERIALIZED (
    SELECT account_id, series, minute, backend
    FROM figures_by_minute
    WHERE minute < $1
    ORDER BY minute
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM figures_by_minute
    USING old
    WHERE figures_by_minute.account_id = old.account_id
      AND figures_by_minute.series = old.series
      AND figures_by_minute.minute = old.minute
      AND figures_by_minute.backend = old.backend
    RETURNING figures_by_minute.*
),
sums AS (
    SELECT account_id, series, minute / 60 AS hour, sum(count)::bigint AS count
    FROM gone
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
),
gathered AS (
    INSERT INTO figures_by_hour (account_id, series, hour, count)
    SELECT account_id, series, hour, count
    FROM sums
    ON CONFLICT (account_id, series, hour) DO UPDATE
    SET count = figures_by_hour.count + excluded.count
)
SELECT count(*)
FROM gone
