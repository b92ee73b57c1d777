-- Differs from the other store: the other store puts this together in Rust (feeds/mod.rs).
-- All that the API shows of a feed, to an account that follows it.
SELECT feeds.id, url, site_url, title, follows.custom_title, follows.folder_id, last_fetched_at, next_check_at,
       failure_count, feeds.last_error, is_gone, follows.unread_count, follows.poll_interval_secs, follows.push_enabled,
       hub_url, current.topic_url, state, lease_secs, expires_at, error_count, current.last_error, last_push_at,
       push_count, miss_count, coalesce(credentials, '') <> '',
       (SELECT icon_id FROM feed_icons WHERE feed_icons.feed_id = feeds.id)
