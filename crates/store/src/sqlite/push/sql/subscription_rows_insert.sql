INSERT INTO subscriptions (
    feed_id, hub_url, topic_url, topic_hash, token, base_url, state, is_current, secrets, next_step_at, created_at
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
