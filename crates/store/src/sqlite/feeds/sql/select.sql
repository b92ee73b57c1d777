-- Differs from the other store: the other store puts this together in Rust (feeds/mod.rs).
-- All that the API shows of a feed.
SELECT feeds.id, url, site_url, title, custom_title, folder_id, last_fetched_at, next_check_at, failure_count,
       feeds.last_error, is_gone, unread_count, poll_interval_secs, push_enabled, hub_url, current.topic_url, state,
       lease_secs, expires_at, error_count, current.last_error, last_push_at, push_count, miss_count,
       credentials IS NOT NULL
FROM feeds
LEFT JOIN subscriptions AS current ON current.feed_id = feeds.id AND current.is_current = 1
