-- A claim takes the wish for a poll away: one that is there came later, and is not put off.
UPDATE feeds
SET etag = ?2,
    last_modified = ?3,
    body_hash = ?4,
    last_fetched_at = ?5,
    next_check_at = min(iif(is_pushed, ?7, ?6), iif(poll_wanted_at > 0, next_check_at, 9223372036854775807)),
    adaptive_secs = ?8,
    failure_count = 0,
    last_error = NULL,
    is_failing = 0,
    is_gone = 0,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
