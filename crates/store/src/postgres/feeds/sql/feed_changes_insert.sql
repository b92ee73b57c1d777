WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
INSERT INTO feeds (url, url_hash, credentials, next_check_at, adaptive_secs, created_at)
SELECT $1, $2, $3, now.ms + $4, $5, now.ms
FROM now
ON CONFLICT (url_hash) DO NOTHING
RETURNING id, created_at
