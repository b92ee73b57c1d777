SELECT number, kind, feed_id, count, entry_ids, at, account_id
FROM changes
WHERE number > ?1
ORDER BY number
LIMIT ?2
