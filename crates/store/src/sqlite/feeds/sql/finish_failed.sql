UPDATE feeds
SET next_check_at = min(?2, iif(poll_wanted_at > 0, next_check_at, 9223372036854775807)),
    adaptive_secs = ?3,
    failure_count = max(failure_count + ?7, 1),
    last_error = ?4,
    is_gone = is_gone OR ?5,
    is_failing = is_failing OR ?6,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
