SELECT count(*)
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = 'failed'
