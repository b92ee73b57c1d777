-- The account first, as by whoever changes its password.
UPDATE accounts
SET app_sessions_ended = app_sessions_ended + 1
WHERE id = $2
  AND EXISTS (SELECT FROM sessions WHERE id = $1 AND account_id = $2 AND is_app)
