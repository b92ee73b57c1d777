SELECT count(*)
FROM deliveries INDEXED BY deliveries_due
WHERE webhook_id = ?
  AND status = 'pending'
