-- Which accounts follow a feed and have a webhook that is told something, and in which folders. The accounts are asked one
-- by one, along an index: webhooks of others are not looked at.
SELECT account_id, folder_id
FROM follows
WHERE feed_id = ?1
  AND EXISTS (
      SELECT 1
      FROM webhooks
      WHERE webhooks.account_id = follows.account_id
        AND enabled = 1
        AND deleted_at IS NULL
  )
