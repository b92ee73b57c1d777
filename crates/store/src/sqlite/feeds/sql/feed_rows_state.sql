-- A feed is due again when the schedule says, or if a hub is trusted to push it, when that is to be checked; but no later
-- than `due_by`, nor than what was requested since the claim, which had cleared `poll_wanted_at`.
-- 9223372036854775807 is i64::MAX, later than every time: least of the other store ignores NULL, min does not.
-- Before its first document it has the title and the site that a file of an account names: its own takes their place.
UPDATE feeds
SET title = iif(last_fetched_at IS NULL, ?2, coalesce(?2, title)),
    site_url = iif(last_fetched_at IS NULL, ?3, coalesce(?3, site_url)),
    icon_url = coalesce(?19, icon_url),
    logo_url = coalesce(?20, logo_url),
    etag = ?4,
    last_modified = ?5,
    body_hash = ?6,
    last_fetched_at = ?7,
    failure_count = ?16,
    last_error = NULL,
    is_failing = ?17,
    is_gone = ?18,
    entry_count = entry_count + ?8,
    next_check_at = min(?7 + iif(is_pushed, ?10, ?9), iif(poll_wanted_at > 0, next_check_at, 9223372036854775807),
                        coalesce(?15, 9223372036854775807)),
    adaptive_secs = ?11,
    ttl_mins = ?12,
    skip_hours = ?13,
    skip_days = ?14,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
