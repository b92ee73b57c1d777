SELECT rowid
FROM entry_grams
WHERE entry_grams MATCH ?
ORDER BY rowid
LIMIT ?
