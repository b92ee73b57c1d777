SELECT count(*)
FROM deliveries INDEXED BY deliveries_due
WHERE webhook_id = ?
  AND is_tried = ?
  AND status = 'pending'
  AND next_attempt_at <= ?
