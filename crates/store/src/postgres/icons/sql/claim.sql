WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
due AS MATERIALIZED (
    SELECT feed_icons.feed_id
    FROM feed_icons
    WHERE due_at <= (SELECT ms FROM now)
    ORDER BY due_at, feed_id
    LIMIT $1
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE feed_icons
SET due_at = now.ms + $2,
    looked_at = now.ms
FROM now, due
JOIN feeds ON feeds.id = due.feed_id
WHERE feed_icons.feed_id = due.feed_id
RETURNING feeds.id, feeds.url, feeds.site_url, feeds.icon_url, feeds.logo_url, feed_icons.failures
