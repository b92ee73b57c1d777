-- Differs from the other store, which has one writer and locks nothing.
-- The time is that after the wait for the locks.
WITH held AS MATERIALIZED (
    SELECT
    FROM feeds
    WHERE id = ANY($1)
    ORDER BY id
    FOR UPDATE
)
SELECT pirssonite_now_ms(), count(*)
FROM held
