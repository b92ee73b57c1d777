UPDATE webhooks
SET deleted_at = ?2,
    enabled = 0
WHERE id = ?1
  AND account_id = ?3
  AND deleted_at IS NULL
