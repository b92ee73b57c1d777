-- Differs from the other store, which has one writer and locks nothing.
WITH held AS MATERIALIZED (
    SELECT
    FROM feeds
    WHERE id = ANY($1)
    ORDER BY id
    FOR NO KEY UPDATE
)
SELECT pirssonite_now_ms(), count(*)
FROM held
