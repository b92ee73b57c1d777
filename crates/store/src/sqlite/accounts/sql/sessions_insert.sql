-- Differs from the other store: that one returns the row, put together in Rust.
INSERT INTO sessions (account_id, secret_hash, created_at, last_used_at, address, user_agent)
VALUES (?1, ?2, ?3, ?3, ?4, ?5)
