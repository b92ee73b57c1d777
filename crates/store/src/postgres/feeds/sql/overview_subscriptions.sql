SELECT state, count(*)
FROM subscriptions
GROUP BY state
