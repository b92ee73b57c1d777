INSERT INTO feeds (url, url_hash, credentials, title, site_url, next_check_at, adaptive_secs, created_at,
                   poll_interval_secs, push_enabled)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
RETURNING id
