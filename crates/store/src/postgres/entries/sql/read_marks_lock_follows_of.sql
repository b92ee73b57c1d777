-- Differs from the other store, which has one writer and locks nothing.
SELECT feed_id
FROM follows
WHERE account_id = $1
  AND feed_id = ANY(ARRAY(
    SELECT state.feed_id
    FROM unnest($2::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT feed_id
        FROM entry_states
        WHERE entry_states.entry_id = given.id
          AND entry_states.account_id = $1
        LIMIT 1
    ) AS state
))
ORDER BY feed_id
FOR NO KEY UPDATE
