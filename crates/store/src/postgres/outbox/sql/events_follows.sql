-- Who follows these feeds, of the accounts that have webhooks.
SELECT follows.feed_id, follows.account_id, follows.folder_id
FROM follows
WHERE follows.feed_id = ANY($1)
  AND EXISTS (
      SELECT
      FROM webhooks
      WHERE webhooks.account_id = follows.account_id
        AND enabled
        AND deleted_at IS NULL
  )
