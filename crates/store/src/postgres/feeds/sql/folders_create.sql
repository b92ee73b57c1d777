INSERT INTO folders (name, position)
SELECT $1, coalesce(max(position) + 1, 0)
FROM folders
ON CONFLICT (name) DO NOTHING
RETURNING id
