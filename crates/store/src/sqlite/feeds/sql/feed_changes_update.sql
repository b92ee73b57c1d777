UPDATE feeds
SET custom_title = CASE WHEN ?2 THEN ?3 ELSE custom_title END,
    folder_id = CASE WHEN ?4 THEN ?5 ELSE folder_id END,
    poll_interval_secs = CASE WHEN ?6 THEN ?7 ELSE poll_interval_secs END,
    -- A shorter interval holds from now on, unless the feed fails or a hub pushes it.
    next_check_at = CASE
        WHEN ?7 IS NOT NULL AND failure_count = 0 AND is_pushed = 0
        THEN min(next_check_at, ?9 + ?7 * 1000)
        ELSE next_check_at
    END,
    push_enabled = coalesce(?8, push_enabled)
WHERE id = ?1
