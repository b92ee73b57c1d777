-- Differs from the other store: places are numbered here, where the other store numbers them in Rust.
SELECT id, name, row_number() OVER (ORDER BY position, id) - 1 AS place
FROM folders
WHERE account_id = $1
ORDER BY place
