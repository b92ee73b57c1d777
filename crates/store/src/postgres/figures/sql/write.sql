-- Nobody else writes these rows: see `backend`.
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
INSERT INTO figures_by_minute (account_id, series, minute, backend, count)
SELECT given.account_id, given.series, now.ms / 60000, pg_backend_pid(), given.count
FROM now
CROSS JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS given (account_id, series, count)
ON CONFLICT (account_id, series, minute, backend) DO UPDATE
SET count = figures_by_minute.count + excluded.count
