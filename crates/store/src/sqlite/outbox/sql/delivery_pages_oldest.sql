SELECT created_at
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = 'pending'
ORDER BY id
LIMIT 1
