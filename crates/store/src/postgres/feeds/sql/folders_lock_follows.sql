-- Differs from the other store, which has one writer and locks nothing.
SELECT feed_id
FROM follows
WHERE folder_id = $1
ORDER BY feed_id, account_id
FOR NO KEY UPDATE
