-- Differs from the other store: the writer goes from row to row; the other store removes in one statement.
SELECT feeds.id, entry_count
FROM follows INDEXED BY follows_of_account
CROSS JOIN feeds ON feeds.id = feed_id
WHERE account_id = ?
LIMIT 1
