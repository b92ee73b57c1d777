UPDATE feeds
SET url = $2,
    url_hash = $3,
    credentials = $4
WHERE id = $1
  AND NOT EXISTS (SELECT FROM feeds WHERE url_hash = ANY($5))
