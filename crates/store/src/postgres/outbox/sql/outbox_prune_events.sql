-- Old events without deliveries, held so that nobody queues them again.
SELECT id
FROM events
WHERE created_at < $1
  AND (SELECT id FROM deliveries WHERE event_id = events.id LIMIT 1) IS NULL
ORDER BY created_at, id
LIMIT $2
FOR UPDATE SKIP LOCKED
