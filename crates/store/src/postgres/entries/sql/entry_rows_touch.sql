-- Differs from the other store: one writer needs no order there (entry_states_touch).
-- What entries say has changed, for all who have them. Locked in order: whoever marks them holds only the follows.
WITH held AS MATERIALIZED (
    SELECT entry_id, account_id
    FROM entry_states
    WHERE entry_id = ANY($2)
    ORDER BY entry_id, account_id
    FOR NO KEY UPDATE
)
UPDATE entry_states
SET modified_at = greatest(modified_at, $1)
FROM held
WHERE entry_states.entry_id = held.entry_id
  AND entry_states.account_id = held.account_id
