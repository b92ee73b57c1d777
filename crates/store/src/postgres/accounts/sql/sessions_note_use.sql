-- Differs from the other store: a constant there.
UPDATE sessions
SET last_used_at = greatest(last_used_at, $2)
WHERE id = $1
