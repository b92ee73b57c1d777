-- Differs from the other store: the other store returns the row, with columns that several statements share (ROTATE).
UPDATE webhooks
SET secret = ?2,
    old_secrets = ?3
WHERE id = ?1
