SELECT url, push_enabled, hubs, topic_url
FROM feeds
WHERE id = ?
