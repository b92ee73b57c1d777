SELECT url, credentials
FROM feeds
WHERE id = $1
