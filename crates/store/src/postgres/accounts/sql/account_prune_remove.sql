-- Differs from the other store: a constant there.
-- Kept for a while, for whoever was let in before it was removed and adds something yet.
DELETE FROM accounts
WHERE id = $1
  AND deleted_at <= $2
  AND NOT EXISTS (SELECT FROM follows WHERE account_id = $1)
  AND NOT EXISTS (SELECT FROM folders WHERE account_id = $1)
  AND NOT EXISTS (SELECT FROM sessions WHERE account_id = $1)
  AND NOT EXISTS (SELECT FROM tokens WHERE account_id = $1)
  AND NOT EXISTS (SELECT FROM webhooks WHERE account_id = $1 AND deleted_at IS NULL)
  AND NOT EXISTS (SELECT FROM figures_by_minute WHERE account_id = $1)
  AND NOT EXISTS (SELECT FROM figures_by_hour WHERE account_id = $1)
