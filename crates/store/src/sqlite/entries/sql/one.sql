SELECT entries.id, entries.feed_id, guid, url, title, author, summary, content, published_at, updated_at,
       entries.sort_at, is_read, is_starred, categories, enclosures
FROM entries
CROSS JOIN entry_states ON entry_states.entry_id = entries.id AND account_id = ?2
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE entries.id = ?1
