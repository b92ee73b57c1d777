SELECT state.entry_id, state.modified_at
FROM unnest($1::bigint[]) AS given (id)
CROSS JOIN LATERAL (
    SELECT entry_id, modified_at
    FROM entry_states
    WHERE entry_states.entry_id = given.id
      AND entry_states.account_id = $2
    LIMIT 1
) AS state
