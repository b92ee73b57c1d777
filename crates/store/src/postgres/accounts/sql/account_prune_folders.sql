-- Differs from the other store: a constant there.
DELETE FROM folders
WHERE id = ANY(ARRAY(
    SELECT id
    FROM folders
    WHERE account_id = $1
    ORDER BY id
    LIMIT $2
))
