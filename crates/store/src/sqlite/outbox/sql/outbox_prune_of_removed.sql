SELECT id
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
LIMIT ?
