-- Differs from the other store: it has no twin because the other store stores pushes one by one, and asks with
-- events_follows.
SELECT follows.feed_id, follows.account_id, follows.folder_id
FROM follows
WHERE follows.feed_id = ANY(ARRAY(SELECT feed_id FROM subscriptions WHERE id = ANY($1)))
  AND EXISTS (
      SELECT
      FROM webhooks
      WHERE webhooks.account_id = follows.account_id
        AND enabled
        AND deleted_at IS NULL
  )
