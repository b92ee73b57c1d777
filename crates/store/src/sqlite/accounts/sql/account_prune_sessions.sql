DELETE FROM sessions
WHERE id IN (SELECT id FROM sessions INDEXED BY sessions_by_use WHERE last_used_at <= ?1 LIMIT ?2)
