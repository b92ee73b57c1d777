-- The first of one kind, after one.
SELECT id, created_at, coalesce(ended_at, created_at)
FROM deliveries
WHERE webhook_id = $1
  AND status = $2
  AND id > $3
ORDER BY id
LIMIT $4
