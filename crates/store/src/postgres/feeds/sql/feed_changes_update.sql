UPDATE follows
SET custom_title = CASE WHEN $3 THEN $4 ELSE custom_title END,
    folder_id = CASE WHEN $5 THEN $6 ELSE folder_id END,
    poll_interval_secs = CASE WHEN $7 THEN $8 ELSE poll_interval_secs END,
    push_enabled = coalesce($9, push_enabled)
WHERE feed_id = $1
  AND account_id = $2
