-- Differs from the other store: a constant there.
SELECT url, credentials
FROM feeds
WHERE id = $1
