-- Walks the feeds after one: those that have what they want are passed over. Written so that each is looked up by
-- itself: the walk ends soon.
SELECT id
FROM feeds
WHERE id > $2
  AND push_enabled
  AND hubs <> '[]'
  AND (SELECT base_url FROM subscriptions WHERE feed_id = feeds.id AND is_current) IS DISTINCT FROM $1
ORDER BY id
LIMIT $3
