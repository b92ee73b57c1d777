INSERT INTO entry_bodies (entry_id, summary, content)
VALUES (?1, ?2, ?3)
ON CONFLICT (entry_id) DO UPDATE SET summary = excluded.summary, content = excluded.content
