-- Differs from the other store: entry by entry; that one locks all of a document in order (entry_rows_touch).
-- An entry says something else: for all who have it.
UPDATE entry_states
SET modified_at = max(modified_at, ?2)
WHERE entry_id = ?1
