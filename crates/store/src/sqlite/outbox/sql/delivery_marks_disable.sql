UPDATE webhooks
SET enabled = 0,
    disabled_reason = ?2
WHERE id = ?1
