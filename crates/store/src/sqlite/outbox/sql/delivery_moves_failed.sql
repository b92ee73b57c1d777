SELECT id
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = 'failed'
  AND id > ?
ORDER BY id
LIMIT ?
