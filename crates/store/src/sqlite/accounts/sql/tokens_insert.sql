-- Differs from the other store: that one returns the row, put together in Rust.
INSERT INTO tokens (account_id, name, scope, secret_hash, fever_hash, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?)
