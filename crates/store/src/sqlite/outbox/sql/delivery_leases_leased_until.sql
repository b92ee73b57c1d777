-- Differs from the other store: the other store asks in its statements (NEXT, and pirssonite_is_held in CLAIM).
-- When the last of the leases runs out that are held on deliveries to a webhook.
-- 60000: clock::LEASE_SLACK_MS.
SELECT max(lease_until)
FROM deliveries INDEXED BY deliveries_held
WHERE webhook_id = ?1
  AND lease_owner IS NOT NULL
  AND lease_until <= ?2 + lease_ms + 60000
