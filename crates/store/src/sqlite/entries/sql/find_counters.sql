SELECT follows.feed_id, entry_count, unread_count, last_fetched_at
FROM follows INDEXED BY follows_of_account
CROSS JOIN feeds ON feeds.id = follows.feed_id
WHERE follows.account_id = ?
ORDER BY follows.feed_id
