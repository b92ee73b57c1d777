-- Differs from the other store: the other store writes texts and words in the statement of the entry (entry_rows_insert).
INSERT INTO entry_bodies (entry_id, summary, content)
VALUES (?1, ?2, ?3)
ON CONFLICT (entry_id) DO UPDATE SET summary = excluded.summary, content = excluded.content
