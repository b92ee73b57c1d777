-- Differs from the other store, which has one writer and locks nothing.
-- The time is that after the wait for the lock.
WITH held AS MATERIALIZED (
    SELECT folder_id, url, credentials
    FROM feeds
    WHERE id = $1
    FOR NO KEY UPDATE
)
SELECT pirssonite_now_ms(), folder_id, url, credentials
FROM held
