SELECT id
FROM events INDEXED BY events_by_time
WHERE created_at < ?
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = events.id)
ORDER BY created_at, id
LIMIT ?
