-- Differs from the other store: the other store searches by GIN in the statement of the page (search/mod.rs).
SELECT rowid
FROM entry_grams
WHERE entry_grams MATCH ?
ORDER BY rowid
LIMIT ?
