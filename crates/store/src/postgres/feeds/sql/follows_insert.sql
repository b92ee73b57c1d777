-- Differs from the other store: many at once, where the other store writes one by one.
INSERT INTO follows (feed_id, account_id, folder_id, custom_title, poll_interval_secs, push_enabled, created_at)
SELECT given.feed_id, $1, given.folder_id, given.custom_title, given.poll_interval_secs, given.push_enabled, $2
FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::boolean[])
    AS given (feed_id, folder_id, custom_title, poll_interval_secs, push_enabled)
