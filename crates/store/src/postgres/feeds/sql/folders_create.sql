INSERT INTO folders (account_id, name, position)
SELECT $1, $2, coalesce(max(position) + 1, 0)
FROM folders
WHERE account_id = $1
ON CONFLICT (account_id, name) DO NOTHING
RETURNING id
