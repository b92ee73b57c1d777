-- A feed is due again when the schedule says, or if a hub is trusted to push it, when that is to be checked; but no later
-- than `due_by`, nor than what was requested since the claim, which had cleared `poll_wanted_at`.
-- 9223372036854775807 is i64::MAX, later than every time: least of the other store ignores NULL, min does not.
UPDATE feeds
SET etag = ?6,
    last_modified = ?7,
    body_hash = ?8,
    last_fetched_at = ?2,
    next_check_at = min(?2 + iif(is_pushed, ?4, ?3), iif(poll_wanted_at > 0, next_check_at, 9223372036854775807),
                        coalesce(?9, 9223372036854775807)),
    adaptive_secs = ?5,
    failure_count = ?10,
    last_error = NULL,
    is_failing = ?11,
    is_gone = ?12,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
