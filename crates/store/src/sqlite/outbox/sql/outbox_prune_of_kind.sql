-- Walks a webhook's deliveries of one state, the oldest first. Later ones were made later: the walk ends at the first
-- that is too young, whenever it ended.
SELECT id, created_at, ended_at
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = ?
ORDER BY id
