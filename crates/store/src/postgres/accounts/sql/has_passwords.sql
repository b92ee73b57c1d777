-- Differs from the other store: a constant there.
SELECT EXISTS (SELECT FROM accounts WHERE password_hash IS NOT NULL AND deleted_at IS NULL)
