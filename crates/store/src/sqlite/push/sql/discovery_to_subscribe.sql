-- Walks the feeds after one: those that have what they want are passed over.
SELECT id
FROM feeds
WHERE id > ?1
  AND push_enabled = 1
  AND hubs <> '[]'
  AND NOT EXISTS (
      SELECT 1
      FROM subscriptions
      WHERE feed_id = feeds.id
        AND is_current = 1
        AND base_url = ?2
  )
ORDER BY id
LIMIT ?3
