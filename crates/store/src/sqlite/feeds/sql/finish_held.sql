SELECT title, url, push_enabled, hubs, topic_url, is_pushed,
       EXISTS (SELECT 1 FROM subscriptions WHERE feed_id = feeds.id), failure_count, is_failing, is_gone,
       last_fetched_at IS NULL
FROM feeds
WHERE id = ?
  AND lease_owner = ?
  AND lease_fence = ?
