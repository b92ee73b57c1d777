UPDATE feed_icons
SET due_at = ?1 + ?3,
    looked_at = ?1
WHERE feed_id IN (SELECT feed_id FROM feed_icons WHERE due_at <= ?1 ORDER BY due_at, feed_id LIMIT ?2)
RETURNING feed_id, failures
