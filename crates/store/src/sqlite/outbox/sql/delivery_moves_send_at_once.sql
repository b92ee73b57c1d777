-- What waits for a later time, of whichever queue.
UPDATE deliveries INDEXED BY deliveries_due
SET next_attempt_at = ?2
WHERE webhook_id = ?1
  AND is_tried IN (0, 1)
  AND status = 'pending'
  AND next_attempt_at > ?2
