SELECT id, status
FROM deliveries
WHERE event_id = ?
  AND webhook_id = ?
