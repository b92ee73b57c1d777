-- Differs from the other store: one by one, where the other store reads a page in one statement, put together in Rust
-- (pages.rs).
-- The same without its long texts.
SELECT id, entries.feed_id, guid, url, title, author, NULL, NULL, published_at, updated_at, entries.sort_at, is_read,
       is_starred, categories, enclosures, entry_states.received_at
FROM entries
CROSS JOIN entry_states INDEXED BY states_by_id ON account_id = ?2 AND entry_id = id
WHERE id = ?1
