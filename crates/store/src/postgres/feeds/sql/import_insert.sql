-- Differs from the other store: there it is the statement of a new feed (feed_changes_insert).
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
INSERT INTO feeds (url, url_hash, credentials, title, site_url, next_check_at, adaptive_secs, created_at,
                   poll_interval_secs, push_enabled)
SELECT seed.url, seed.url_hash, seed.credentials, seed.title, seed.site_url, now.ms, $6, now.ms, seed.poll_interval_secs,
       seed.push_enabled
FROM now, unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $7::bigint[], $8::boolean[])
    WITH ORDINALITY AS seed (url, url_hash, credentials, title, site_url, poll_interval_secs, push_enabled, place)
ORDER BY seed.place
ON CONFLICT (url_hash) DO NOTHING
RETURNING id, url_hash
