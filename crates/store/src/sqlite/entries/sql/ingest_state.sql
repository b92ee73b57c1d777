-- A claim takes the wish for a poll away: one that is there came later, and is not put off.
UPDATE feeds
SET title = coalesce(?2, title),
    site_url = coalesce(?3, site_url),
    etag = ?4,
    last_modified = ?5,
    body_hash = ?6,
    last_fetched_at = ?7,
    failure_count = 0,
    last_error = NULL,
    is_failing = 0,
    is_gone = 0,
    unread_count = unread_count + ?8,
    entry_count = entry_count + ?8,
    next_check_at = min(iif(is_pushed, ?10, ?9), iif(poll_wanted_at > 0, next_check_at, 9223372036854775807)),
    adaptive_secs = ?11,
    ttl_mins = ?12,
    skip_hours = ?13,
    skip_days = ?14,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
