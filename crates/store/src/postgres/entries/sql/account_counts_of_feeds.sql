SELECT account_id, feed_id, folder_id, unread_count
FROM follows
WHERE feed_id = ANY ($2)
  AND account_id = ANY ($1)
ORDER BY account_id, feed_id
