UPDATE entries
SET is_read = 1,
    modified_at = max(modified_at, ?2)
WHERE id = ?1
  AND is_read = 0
RETURNING feed_id
