SELECT EXISTS (SELECT FROM accounts WHERE password_hash IS NOT NULL AND deleted_at IS NULL)
