SELECT accounts.id, starred_count
FROM accounts
WHERE id = ANY ($1)
  AND deleted_at IS NULL
