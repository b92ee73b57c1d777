INSERT INTO icons (hash, mime, bytes, found_at)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (hash) DO UPDATE SET found_at = excluded.found_at
RETURNING id
