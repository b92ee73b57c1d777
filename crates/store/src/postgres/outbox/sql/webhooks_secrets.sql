-- Differs from the other store, which has one writer and locks nothing.
SELECT secret, old_secrets
FROM webhooks
WHERE id = $1
  AND account_id = $2
  AND deleted_at IS NULL
FOR NO KEY UPDATE
