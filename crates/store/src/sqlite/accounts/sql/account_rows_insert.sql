-- Differs from the other store: that one returns the row, put together in Rust.
INSERT INTO accounts (name, name_key, password_hash, is_admin, created_at)
VALUES (?, ?, ?, ?, ?)
