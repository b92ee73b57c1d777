-- Differs from the other store: the other store asks with overview_feeds, which knows the time.
SELECT min(expires_at)
FROM subscriptions INDEXED BY subscriptions_expiring
WHERE state = 'active'
