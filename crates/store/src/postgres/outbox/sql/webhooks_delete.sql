UPDATE webhooks
SET deleted_at = (SELECT pirssonite_now_ms()),
    enabled = false
WHERE id = $1
  AND account_id = $2
  AND deleted_at IS NULL
