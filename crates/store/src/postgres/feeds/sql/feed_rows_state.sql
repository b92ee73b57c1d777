-- A feed is due again when the schedule says, or if a hub is trusted to push it, when that is to be checked; but no later
-- than `due_by`, nor than what was requested since the claim, which had cleared `poll_wanted_at`.
-- Before its first document it has the title and the site that a file of an account names: its own takes their place.
UPDATE feeds
SET title = CASE WHEN last_fetched_at IS NULL THEN $2 ELSE coalesce($2, title) END,
    site_url = CASE WHEN last_fetched_at IS NULL THEN $3 ELSE coalesce($3, site_url) END,
    icon_url = coalesce($22, icon_url),
    logo_url = coalesce($23, logo_url),
    etag = $4,
    last_modified = $5,
    body_hash = $6,
    last_fetched_at = $7,
    failure_count = $19,
    last_error = NULL,
    is_failing = $20,
    is_gone = $21,
    entry_count = entry_count + $8,
    next_check_at = least($7 + CASE WHEN is_pushed THEN $10::bigint ELSE $9 END,
                          CASE WHEN poll_wanted_at > 0 THEN next_check_at END, $18::bigint),
    adaptive_secs = $11,
    ttl_mins = $12,
    skip_hours = $13,
    skip_days = $14,
    hubs = coalesce($15, hubs),
    topic_url = CASE WHEN $16 THEN $17 ELSE topic_url END,
    lease_owner = NULL,
    lease_until = 0
WHERE id = $1
