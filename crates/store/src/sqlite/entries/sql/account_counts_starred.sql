SELECT accounts.id, starred_count
FROM json_each(?1) AS given
CROSS JOIN accounts ON accounts.id = given.value
WHERE deleted_at IS NULL
