-- Whoever wanted a feed to be polled has that with the claim: what is wanted from now on is more. There is a row with the
-- time if nothing is claimed, too.
-- 60000: clock::LEASE_SLACK_MS.
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
bound AS MATERIALIZED (
    SELECT CASE WHEN ms >= $4 AND ms < $5 THEN $6 ELSE '-9223372036854775808'::bigint END AS due_at, $7::bigint AS id
    FROM now
),
due AS MATERIALIZED (
    SELECT id
    FROM feeds
    WHERE NOT is_gone
      AND (next_check_at, id) > ((SELECT due_at FROM bound), (SELECT id FROM bound))
      AND next_check_at <= (SELECT ms FROM now)
      AND NOT (lease_until > (SELECT ms FROM now) AND lease_until <= (SELECT ms FROM now) + $2 + 60000)
    ORDER BY next_check_at, id
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE feeds
    SET lease_owner = $1,
        lease_until = now.ms + $2,
        lease_fence = lease_fence + 1,
        poll_wanted_at = 0
    FROM now, due
    WHERE feeds.id = due.id
    RETURNING feeds.id, url, credentials, etag, last_modified, body_hash, lease_owner, lease_fence, failure_count,
              adaptive_secs, poll_interval_secs, last_fetched_at, ttl_mins, skip_hours, skip_days, next_check_at
)
SELECT id, url, credentials, etag, last_modified, body_hash, lease_owner, lease_fence, now.ms, failure_count, adaptive_secs,
       poll_interval_secs, last_fetched_at IS NULL, ttl_mins, skip_hours, skip_days, next_check_at
FROM now
LEFT JOIN claimed ON true
ORDER BY next_check_at, id
