-- Guarded once more: an entry may have been starred, or marked as unread, since it was found.
DELETE FROM entry_states
WHERE entry_id = ?1
  AND account_id = ?2
  AND (is_read = 1 OR received_at < ?3)
  AND is_starred = 0
RETURNING feed_id, is_read
