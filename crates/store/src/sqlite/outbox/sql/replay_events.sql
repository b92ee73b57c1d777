-- What happens from the start of the replay on is sent anyway.
SELECT created_at, id, type, feed_id, account_id, webhook_id, is_backlog
FROM events INDEXED BY events_by_time
WHERE (created_at, id) > (?1, ?2)
  AND created_at <= ?3
ORDER BY created_at, id
LIMIT ?4
