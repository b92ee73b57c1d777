SELECT feeds.id, entry_count
FROM follows INDEXED BY follows_of_account
CROSS JOIN feeds ON feeds.id = feed_id
WHERE account_id = ?
LIMIT 1
