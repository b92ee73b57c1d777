-- Differs from the other store, which has one writer and locks nothing.
-- The same, as strong as a removal needs it: whoever asked for more later might wait in a circle.
WITH held AS MATERIALIZED (
    SELECT
    FROM feeds
    WHERE id = $1
    FOR UPDATE
)
SELECT pirssonite_now_ms()
FROM held
