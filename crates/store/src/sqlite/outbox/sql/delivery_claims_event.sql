-- Differs from the other store: the other store reads events in the statement that claims (CLAIM in delivery_claims.rs).
SELECT type, created_at, size, iif(size <= ?2, data, NULL)
FROM events
WHERE id = ?1
