INSERT INTO webhooks (
    account_id, url, description, enabled, event_types, feed_ids, folder_ids, headers, include_content, backlog, rate_per_second,
    secret, created_at
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
