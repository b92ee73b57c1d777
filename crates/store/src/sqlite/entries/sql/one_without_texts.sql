-- Differs from the other store: one by one, where the other store reads a page in one statement, put together in Rust
-- (pages.rs).
-- The same without its long texts.
SELECT id, feed_id, guid, url, title, author, NULL, NULL, published_at, updated_at, sort_at, is_read, is_starred,
       categories, enclosures
FROM entries
WHERE id = ?
