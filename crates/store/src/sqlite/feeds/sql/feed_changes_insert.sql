INSERT INTO feeds (url, url_hash, credentials, folder_id, custom_title, next_check_at, adaptive_secs, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
RETURNING id
