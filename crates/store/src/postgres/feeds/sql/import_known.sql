-- Differs from the other store, which has one writer and locks nothing.
-- The feeds that the server has, held before any is made: whoever holds one of them may be making another.
SELECT id, url_hash
FROM feeds
WHERE url_hash = ANY($1)
ORDER BY id
FOR NO KEY UPDATE
