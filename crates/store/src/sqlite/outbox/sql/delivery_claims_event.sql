SELECT type, created_at, size, iif(size <= ?2, data, NULL)
FROM events
WHERE id = ?1
