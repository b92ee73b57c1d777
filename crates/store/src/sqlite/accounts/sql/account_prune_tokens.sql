DELETE FROM tokens
WHERE id IN (SELECT id FROM tokens INDEXED BY tokens_by_end WHERE expires_at <= ?1 LIMIT ?2)
