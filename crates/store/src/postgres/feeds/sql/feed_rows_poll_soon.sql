-- The same, for whoever does not hold the lock yet. The time is that after the wait for it.
WITH held AS MATERIALIZED (
    SELECT id
    FROM feeds
    WHERE id = $1
      AND NOT is_gone
    FOR NO KEY UPDATE
),
now AS MATERIALIZED (
    SELECT id, pirssonite_now_ms() AS ms
    FROM held
)
UPDATE feeds
SET poll_wanted_at = now.ms,
    next_check_at = CASE
        WHEN lease_until > now.ms THEN now.ms + $2
        ELSE least(next_check_at, now.ms + $2)
    END
FROM now
WHERE feeds.id = now.id
