-- Differs from the other store: the other store reads this with the lock (discovery_lock_feeds).
SELECT url, push_enabled, hubs, topic_url
FROM feeds
WHERE id = ?
