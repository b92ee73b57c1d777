-- Who follows these feeds, of the accounts that have webhooks.
SELECT follows.feed_id, follows.account_id, follows.folder_id
FROM follows
WHERE follows.feed_id = ANY($1)
  AND follows.account_id IN (SELECT account_id FROM webhooks WHERE enabled AND deleted_at IS NULL)
