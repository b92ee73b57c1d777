-- Differs from the claim of due feeds: these are wanted by name. Those that somebody has locked just now are left out.
-- 60000: clock::LEASE_SLACK_MS.
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
wanted AS MATERIALIZED (
    SELECT id
    FROM feeds
    WHERE id = ANY($3)
      AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + $2 + 60000)
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE feeds
SET lease_owner = $1,
    lease_until = now.ms + $2,
    lease_fence = lease_fence + 1,
    poll_wanted_at = 0
FROM now, wanted
WHERE feeds.id = wanted.id
RETURNING feeds.id, url, credentials, etag, last_modified, body_hash, lease_owner, lease_fence, now.ms, failure_count,
          adaptive_secs, poll_interval_secs, last_fetched_at IS NULL, ttl_mins, skip_hours, skip_days, next_check_at
