SELECT next_step_at, lease_until
FROM subscriptions INDEXED BY subscriptions_due
WHERE next_step_at IS NOT NULL
ORDER BY next_step_at
