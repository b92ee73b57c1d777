INSERT INTO follows (feed_id, account_id, folder_id, custom_title, poll_interval_secs, push_enabled, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
