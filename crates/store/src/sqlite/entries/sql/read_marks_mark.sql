UPDATE entry_states
SET is_read = 1,
    modified_at = max(modified_at, ?3)
WHERE entry_id = ?1
  AND account_id = ?2
  AND is_read = 0
RETURNING feed_id
