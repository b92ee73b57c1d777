INSERT INTO feeds (url, url_hash, credentials, folder_id, title, site_url, next_check_at, adaptive_secs, created_at,
                   custom_title, poll_interval_secs, push_enabled)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?7, ?9, ?10, ?11)
RETURNING id
