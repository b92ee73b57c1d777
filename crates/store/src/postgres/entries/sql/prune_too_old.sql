-- With a value for `is_read`, not a condition, the index is walked from its start.
SELECT entry_id, account_id, feed_id
FROM entry_states
WHERE is_read = $3
  AND NOT is_starred
  AND received_at < $1
ORDER BY received_at
LIMIT $2
