SELECT account_id, feed_id, folder_id, unread_count
FROM follows
WHERE account_id = ANY ($1)
ORDER BY account_id, feed_id
