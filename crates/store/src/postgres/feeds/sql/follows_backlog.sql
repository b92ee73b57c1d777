-- Differs from the other store: entries are read one by one there (one_unmarked).
-- Entries as events show them, by their ids.
SELECT id, feed_id, guid, url, title, author, summary, content, published_at, updated_at, sort_at, false, false, categories,
       enclosures, received_at
FROM entries
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE id = ANY($1)
ORDER BY id
