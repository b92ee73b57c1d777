SELECT number, kind, feed_id, count, entry_ids, at
FROM changes
WHERE number > ?1
ORDER BY number
LIMIT ?2
