-- Differs from the other store, which has one writer and locks nothing.
SELECT id
FROM feeds
WHERE id = ANY(ARRAY(
    SELECT entry.feed_id
    FROM unnest($1::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT feed_id
        FROM entries
        WHERE entries.id = given.id
        LIMIT 1
    ) AS entry
))
ORDER BY id
FOR NO KEY UPDATE
