-- Differs from the other store, which has one writer and locks nothing.
SELECT id
FROM feeds
WHERE id = ANY($1)
ORDER BY id
FOR NO KEY UPDATE
