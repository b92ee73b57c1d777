-- Differs from the other store, which has one writer and locks nothing.
SELECT feed_id
FROM follows
WHERE account_id = $1
  AND feed_id = ANY($2)
ORDER BY feed_id
FOR NO KEY UPDATE
