-- Differs from the other store, which has one writer and locks nothing.
-- The webhook's row is not locked: that it is removed in this moment is no matter.
SELECT status
FROM deliveries
WHERE id = $1
  AND EXISTS (SELECT FROM webhooks WHERE webhooks.id = webhook_id AND account_id = $2 AND deleted_at IS NULL)
FOR NO KEY UPDATE
