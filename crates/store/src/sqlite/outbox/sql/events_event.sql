INSERT INTO events (type, created_at, feed_id, folder_id, webhook_id, is_backlog, size, data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
