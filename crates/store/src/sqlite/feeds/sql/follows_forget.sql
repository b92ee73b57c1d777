DELETE FROM entry_states
WHERE account_id = ?1
  AND entry_id IN (SELECT id FROM entries INDEXED BY entries_of_feed WHERE feed_id = ?2)
