-- Differs from the other store: the other store writes this with the health (webhook_rows_health).
UPDATE webhooks
SET enabled = 0,
    disabled_reason = ?2
WHERE id = ?1
