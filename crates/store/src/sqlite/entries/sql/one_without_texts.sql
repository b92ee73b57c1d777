-- The same without its long texts.
SELECT id, feed_id, guid, url, title, author, NULL, NULL, published_at, updated_at, sort_at, is_read, is_starred,
       categories, enclosures
FROM entries
WHERE id = ?
