-- Differs from the other store: that one reads all of a backlog at once (follows_backlog).
-- As nobody has marked it.
SELECT entries.id, feed_id, guid, url, title, author, summary, content, published_at, updated_at, sort_at, 0, 0,
       categories, enclosures, received_at
FROM entries
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE entries.id = ?
