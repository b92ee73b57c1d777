-- The time is that after the wait for the lock.
WITH held AS MATERIALIZED (
    SELECT id, url, hubs, topic_url, is_pushed, push_enabled, title, failure_count, is_failing, is_gone, last_fetched_at
    FROM feeds
    WHERE id = $1 AND lease_owner = $2 AND lease_fence = $3
    FOR NO KEY UPDATE
)
SELECT pirssonite_now_ms(), url, hubs, topic_url, is_pushed, push_enabled,
       EXISTS (SELECT FROM subscriptions WHERE feed_id = held.id), title, failure_count, is_failing, is_gone,
       last_fetched_at IS NULL
FROM held
