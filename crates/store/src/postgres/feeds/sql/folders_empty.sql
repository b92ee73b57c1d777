-- The entries of a folder that goes are in none. Locked in order: whoever changes entries holds only their feeds.
WITH held AS MATERIALIZED (
    SELECT entry_id
    FROM entry_states
    WHERE account_id = $1
      AND folder_id = $2
    ORDER BY entry_id
    FOR NO KEY UPDATE
)
UPDATE entry_states
SET folder_id = NULL
FROM held
WHERE entry_states.entry_id = held.entry_id
  AND account_id = $1
