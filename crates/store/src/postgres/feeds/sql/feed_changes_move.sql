-- Entries are where their feed is. The feed's row is locked, and the follow's: nobody else changes these.
UPDATE entry_states
SET folder_id = $3
FROM entries
WHERE entries.feed_id = $1
  AND entry_states.entry_id = entries.id
  AND account_id = $2
