-- Differs from the other store, which has one writer and locks nothing.
-- The time is that after the wait for the locks.
WITH held AS MATERIALIZED (
    SELECT id, url, hubs, topic_url, push_enabled
    FROM feeds
    WHERE id = ANY($1)
    ORDER BY id
    FOR NO KEY UPDATE
)
SELECT id, coalesce(topic_url, url), CASE WHEN push_enabled THEN hubs ELSE '[]' END, pirssonite_now_ms()
FROM held
ORDER BY id
