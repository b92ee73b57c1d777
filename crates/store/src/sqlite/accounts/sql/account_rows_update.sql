-- Differs from the other store: that one returns the row, put together in Rust.
UPDATE accounts
SET name = coalesce(?2, name),
    name_key = coalesce(?3, name_key),
    is_admin = coalesce(?4, is_admin),
    password_hash = coalesce(?5, password_hash)
WHERE id = ?1
