-- Differs from the other store: one by one, where the other store reads a page in one statement, put together in Rust
-- (pages.rs).
SELECT entries.id, feed_id, guid, url, title, author, summary, content, published_at, updated_at, sort_at, is_read,
       is_starred, categories, enclosures
FROM entries
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE entries.id = ?
