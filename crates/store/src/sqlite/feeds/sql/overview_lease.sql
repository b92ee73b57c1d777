SELECT min(expires_at)
FROM subscriptions INDEXED BY subscriptions_expiring
WHERE state = 'active'
