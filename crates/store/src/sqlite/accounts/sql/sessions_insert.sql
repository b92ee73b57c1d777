-- Differs from the other store: that one returns the row, put together in Rust.
INSERT INTO sessions (account_id, secret_hash, is_app, created_at, last_used_at, address, user_agent)
SELECT id, ?2, ?3, ?4, ?4, ?5, ?6
FROM accounts
WHERE id = ?1
  AND deleted_at IS NULL
  AND password_hash IS ?7
  AND (NOT ?3 OR app_sessions_ended = ?8)
ON CONFLICT (secret_hash) DO UPDATE
SET created_at = excluded.created_at,
    last_used_at = excluded.last_used_at,
    address = excluded.address,
    user_agent = excluded.user_agent
WHERE sessions.account_id = excluded.account_id
RETURNING id
