-- Events after a position, up to the time at which the replay began: what happens meanwhile is queued anyway.
SELECT id, created_at, type, feed_id, folder_id, webhook_id, is_backlog
FROM events
WHERE (created_at, id) > ($1, $2)
  AND created_at <= $3
ORDER BY created_at, id
LIMIT $4
