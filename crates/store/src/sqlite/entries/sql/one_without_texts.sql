-- The same without its long texts.
SELECT id, entries.feed_id, guid, url, title, author, NULL, NULL, published_at, updated_at, entries.sort_at, is_read,
       is_starred, categories, enclosures
FROM entries
CROSS JOIN entry_states ON entry_id = id AND account_id = ?2
WHERE id = ?1
