-- Differs from the other store: a constant there.
SELECT id
FROM accounts INDEXED BY accounts_removed
WHERE deleted_at IS NOT NULL
  AND id > ?
ORDER BY id
LIMIT 1
