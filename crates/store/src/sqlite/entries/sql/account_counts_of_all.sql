SELECT account_id, feed_id, folder_id, unread_count
FROM json_each(?1) AS given
CROSS JOIN follows INDEXED BY follows_of_account ON account_id = given.value
ORDER BY account_id, feed_id
