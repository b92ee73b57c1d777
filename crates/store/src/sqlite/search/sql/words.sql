-- Differs from the other store: the other store reads the words in the statement of the page (search/mod.rs).
SELECT words
FROM entry_words
WHERE entry_id = ?
