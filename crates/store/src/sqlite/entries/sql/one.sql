-- Differs from the other store: one by one, where the other store reads a page in one statement, put together in Rust
-- (pages.rs).
SELECT entries.id, entries.feed_id, guid, url, title, author, summary, content, published_at, updated_at,
       entries.sort_at, is_read, is_starred, categories, enclosures, entry_states.received_at
FROM entries
CROSS JOIN entry_states INDEXED BY states_by_id ON account_id = ?2 AND entry_states.entry_id = entries.id
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE entries.id = ?1
