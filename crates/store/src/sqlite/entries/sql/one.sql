SELECT entries.id, feed_id, guid, url, title, author, summary, content, published_at, updated_at, sort_at, is_read,
       is_starred, categories, enclosures
FROM entries
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE entries.id = ?
