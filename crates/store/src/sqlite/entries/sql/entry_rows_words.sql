INSERT INTO entry_words (entry_id, words)
VALUES (?1, ?2)
ON CONFLICT (entry_id) DO UPDATE SET words = excluded.words
