-- Feeds after one that have subscriptions that are still wanted.
SELECT DISTINCT feed_id
FROM subscriptions
WHERE feed_id > $1
  AND state <> 'unsubscribing'
ORDER BY feed_id
LIMIT $2
