DELETE FROM tokens
WHERE id = ANY(ARRAY(
    SELECT id
    FROM tokens
    WHERE expires_at <= $1
    ORDER BY expires_at
    LIMIT $2
))
