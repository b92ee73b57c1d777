-- 60000: clock::LEASE_SLACK_MS.
UPDATE feeds
SET lease_owner = ?1,
    lease_until = ?2 + ?3,
    lease_fence = lease_fence + 1,
    poll_wanted_at = 0
WHERE id = ?4
  AND NOT (lease_until > ?2 AND lease_until <= ?2 + ?3 + 60000)
RETURNING id, url, credentials, etag, last_modified, body_hash, lease_owner, lease_fence, ?2, failure_count,
          adaptive_secs, poll_interval_secs, last_fetched_at IS NULL, ttl_mins, skip_hours, skip_days, next_check_at
