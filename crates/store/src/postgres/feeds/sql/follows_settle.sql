-- What the followers want together: the shortest interval, and push if any does. A shorter interval ($2) holds from now ($3)
-- on, unless the feed fails or a hub pushes it. It is in seconds, times are in milliseconds.
UPDATE feeds
SET poll_interval_secs = wanted.poll_interval_secs,
    push_enabled = wanted.push_enabled,
    next_check_at = CASE
        WHEN $2::bigint IS NOT NULL AND failure_count = 0 AND NOT is_pushed
        THEN least(next_check_at, $3::bigint + $2 * 1000)
        ELSE next_check_at
    END
FROM (
    SELECT min(poll_interval_secs) AS poll_interval_secs, coalesce(bool_or(push_enabled), false) AS push_enabled
    FROM follows
    WHERE feed_id = $1
) AS wanted
WHERE id = $1
RETURNING feeds.push_enabled
