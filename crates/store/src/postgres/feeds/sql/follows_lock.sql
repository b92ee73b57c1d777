-- Differs from the other store, which has one writer and locks nothing.
-- As strong as a removal needs it.
SELECT folder_id, custom_title, poll_interval_secs, push_enabled
FROM follows
WHERE feed_id = $1
  AND account_id = $2
FOR UPDATE
