-- Differs from the other store: the other store writes texts and words in the statement of the entry (entry_rows_insert).
INSERT INTO entry_words (entry_id, words)
VALUES (?1, ?2)
ON CONFLICT (entry_id) DO UPDATE SET words = excluded.words
