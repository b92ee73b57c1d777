-- Walks the index of due feeds from its start. A feed whose worker died is still due, and is claimed again once its
-- lease has run out. Whoever wanted it to be polled has that with the claim: what is wanted from now on is more.
-- 60000: clock::LEASE_SLACK_MS.
UPDATE feeds
SET lease_owner = ?1,
    lease_until = ?2 + ?3,
    lease_fence = lease_fence + 1,
    poll_wanted_at = 0
WHERE id IN (
    SELECT id
    FROM feeds INDEXED BY feeds_due
    WHERE is_gone = 0
      AND next_check_at <= ?2
      AND NOT (lease_until > ?2 AND lease_until <= ?2 + ?3 + 60000)
    ORDER BY next_check_at, id
    LIMIT ?4
)
RETURNING id, url, credentials, etag, last_modified, body_hash, lease_owner, lease_fence, ?2, failure_count,
          adaptive_secs, poll_interval_secs, last_fetched_at IS NULL, ttl_mins, skip_hours, skip_days, next_check_at
