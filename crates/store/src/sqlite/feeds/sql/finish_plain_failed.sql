-- No later than `due_by`, nor than what was requested since the claim, which had cleared `poll_wanted_at`.
-- 9223372036854775807 is i64::MAX, later than every time: least of the other store ignores NULL, min does not.
UPDATE feeds
SET next_check_at = min(?2 + ?3, iif(poll_wanted_at > 0, next_check_at, 9223372036854775807),
                        coalesce(?6, 9223372036854775807)),
    adaptive_secs = ?4,
    failure_count = ?7,
    last_error = ?5,
    is_failing = ?8,
    is_gone = ?9,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
