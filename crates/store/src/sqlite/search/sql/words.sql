SELECT words
FROM entry_words
WHERE entry_id = ?
