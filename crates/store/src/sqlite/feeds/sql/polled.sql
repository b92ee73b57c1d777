-- Differs from the other store: that one puts this together in Rust (feeds/mod.rs).
-- As the server has it, whoever follows it.
FROM (
    SELECT id AS feed_id, NULL AS custom_title, NULL AS folder_id, 0 AS unread_count, poll_interval_secs, push_enabled
    FROM feeds
    WHERE id = ?1
) AS follows
CROSS JOIN feeds ON feeds.id = follows.feed_id
LEFT JOIN subscriptions AS current ON current.feed_id = feeds.id AND current.is_current = 1
