-- Entries are where their feed is.
UPDATE entry_states
SET folder_id = ?3
WHERE account_id = ?2
  AND entry_id IN (SELECT id FROM entries INDEXED BY entries_of_feed WHERE feed_id = ?1)
