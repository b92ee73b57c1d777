INSERT INTO accounts (name, name_key, password_hash, is_admin, created_at)
VALUES (?, ?, ?, ?, ?)
