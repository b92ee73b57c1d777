-- Differs from the other store: many at once, where the other store reads one by one.
-- As payloads show them.
SELECT id, url, title
FROM feeds
WHERE id = ANY($1)
