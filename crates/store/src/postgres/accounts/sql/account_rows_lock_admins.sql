-- Differs from the other store, which has one writer and locks nothing.
SELECT id
FROM accounts
WHERE is_admin
  AND deleted_at IS NULL
ORDER BY id
FOR NO KEY UPDATE
