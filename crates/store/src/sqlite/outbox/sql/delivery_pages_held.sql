-- Differs from the other store: a count each, where the other store has one statement for all (OVERVIEW in
-- delivery_pages.rs).
-- Those that somebody sends, and how many of them are due.
-- 60000: clock::LEASE_SLACK_MS.
SELECT count(*), coalesce(sum(next_attempt_at <= ?2), 0)
FROM deliveries INDEXED BY deliveries_held
WHERE webhook_id = ?1
  AND lease_owner IS NOT NULL
  AND lease_until > ?2
  AND lease_until <= ?2 + lease_ms + 60000
  AND status = 'pending'
