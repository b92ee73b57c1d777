-- Differs from the other store: feeds, whose rows are locked first, where the other store walks the subscriptions
-- (LIVING in subscriptions.rs).
-- Feeds after one that have subscriptions that are still wanted.
SELECT DISTINCT feed_id
FROM subscriptions
WHERE feed_id > $1
  AND state IN ('pending', 'active', 'inactive', 'unsubscribing')
  AND state <> 'unsubscribing'
ORDER BY feed_id
LIMIT $2
