SELECT account_id, feed_id, folder_id, unread_count
FROM json_each(?2) AS feed
CROSS JOIN json_each(?1) AS account
CROSS JOIN follows ON feed_id = feed.value AND account_id = account.value
ORDER BY account_id, feed_id
