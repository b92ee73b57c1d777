WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
INSERT INTO feeds (url, url_hash, credentials, folder_id, custom_title, next_check_at, adaptive_secs, created_at)
SELECT $1, $2, $3, $4, $5, now.ms + $6, $7, now.ms
FROM now
ON CONFLICT (url_hash) DO NOTHING
RETURNING id, created_at
