-- What the followers want together: the shortest interval, and push if any does. A shorter interval (2) holds from now (3)
-- on, unless the feed fails or a hub pushes it. It is in seconds, times are in milliseconds.
UPDATE feeds
SET poll_interval_secs = (SELECT min(poll_interval_secs) FROM follows WHERE feed_id = ?1),
    push_enabled = (SELECT coalesce(max(push_enabled), 0) FROM follows WHERE feed_id = ?1),
    next_check_at = CASE
        WHEN ?2 IS NOT NULL AND failure_count = 0 AND is_pushed = 0
        THEN min(next_check_at, ?3 + ?2 * 1000)
        ELSE next_check_at
    END
WHERE id = ?1
RETURNING push_enabled
