UPDATE webhooks
SET secret = ?2,
    old_secrets = ?3
WHERE id = ?1
