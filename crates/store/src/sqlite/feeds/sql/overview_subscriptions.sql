SELECT state, count(*)
FROM subscriptions INDEXED BY subscriptions_by_state
GROUP BY state
