INSERT INTO subscriptions (feed_id, hub_url, topic_url, topic_hash, token, base_url, state, is_current, secrets,
                           next_step_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
