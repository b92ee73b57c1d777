-- Differs from the other store: that one puts this together in Rust (feeds/mod.rs).
FROM follows
CROSS JOIN feeds ON feeds.id = follows.feed_id
LEFT JOIN subscriptions AS current ON current.feed_id = feeds.id AND current.is_current = 1
WHERE follows.account_id = ?1
