DELETE FROM sessions
WHERE id = ANY(ARRAY(
    SELECT id
    FROM sessions
    WHERE last_used_at <= $1
    ORDER BY last_used_at
    LIMIT $2
))
