INSERT INTO folders (name, position)
SELECT ?, coalesce(max(position) + 1, 0)
FROM folders
WHERE true
ON CONFLICT (name) DO NOTHING
RETURNING id
