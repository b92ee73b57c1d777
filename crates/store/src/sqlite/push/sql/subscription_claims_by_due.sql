SELECT next_step_at, lease_until
FROM subscriptions INDEXED BY subscriptions_due
WHERE next_step_at IS NOT NULL
  AND state IN ('pending', 'active', 'inactive', 'unsubscribing')
ORDER BY next_step_at
