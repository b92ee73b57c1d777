SELECT follows.feed_id, entry_count, unread_count, last_fetched_at
FROM follows
JOIN feeds ON feeds.id = follows.feed_id
WHERE follows.account_id = $1
ORDER BY follows.feed_id
