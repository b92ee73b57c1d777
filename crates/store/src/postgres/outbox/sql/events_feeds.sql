-- Differs from the other store: many at once, where the other store reads one by one.
-- As payloads show them.
SELECT id, url, coalesce(custom_title, title), folder_id
FROM feeds
WHERE id = ANY($1)
