-- As those of feeds, a step of 100 too: when, id, and until when it is leased.
SELECT next_step_at, id, lease_until
FROM subscriptions
WHERE next_step_at IS NOT NULL
  AND state IN ('pending', 'active', 'inactive', 'unsubscribing')
  AND (next_step_at, id) > ($1, $2)
ORDER BY next_step_at, id
LIMIT 100
