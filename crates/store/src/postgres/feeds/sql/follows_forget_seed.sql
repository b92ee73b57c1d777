UPDATE feeds
SET title = NULL,
    site_url = NULL
WHERE id = $1
  AND last_fetched_at IS NULL
  AND (title IS NOT NULL OR site_url IS NOT NULL)
