SELECT number, at, duration_ms, status, answer, error
FROM attempts
WHERE delivery_id = $1
ORDER BY place
