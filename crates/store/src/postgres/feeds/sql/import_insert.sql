WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
INSERT INTO feeds (url, url_hash, credentials, folder_id, title, site_url, next_check_at, adaptive_secs, created_at,
                   custom_title, poll_interval_secs, push_enabled)
SELECT seed.url, seed.url_hash, seed.credentials, seed.folder_id, seed.title, seed.site_url, now.ms, $7, now.ms,
       seed.custom_title, seed.poll_interval_secs, seed.push_enabled
FROM now, unnest($1::text[], $2::bytea[], $3::text[], $4::bigint[], $5::text[], $6::text[], $8::text[], $9::bigint[],
                 $10::boolean[]) WITH ORDINALITY
    AS seed (url, url_hash, credentials, folder_id, title, site_url, custom_title, poll_interval_secs, push_enabled, place)
ORDER BY seed.place
ON CONFLICT (url_hash) DO NOTHING
RETURNING id, url_hash
