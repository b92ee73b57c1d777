-- With a value for `is_read`, not a condition, the index is walked from its start.
SELECT id, feed_id
FROM entries
WHERE is_read = $3
  AND NOT is_starred
  AND received_at < $1
ORDER BY received_at
LIMIT $2
