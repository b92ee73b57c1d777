SELECT id, name, row_number() OVER (ORDER BY position, id) - 1 AS place
FROM folders
ORDER BY place
