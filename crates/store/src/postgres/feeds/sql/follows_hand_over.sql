-- All entries of a feed for one who begins to follow it: those that are given ($4) unread.
WITH handed AS (
    INSERT INTO entry_states (entry_id, account_id, feed_id, folder_id, sort_at, received_at, modified_at, is_read)
    SELECT entries.id, follows.account_id, entries.feed_id, follows.folder_id, entries.sort_at, $3, $3,
           entries.id NOT IN (SELECT unnest($4::bigint[]))
    FROM follows
    JOIN entries ON entries.feed_id = follows.feed_id
    WHERE follows.feed_id = $1
      AND follows.account_id = $2
    RETURNING is_read
)
UPDATE follows
SET unread_count = handed.unread
FROM (SELECT count(*) AS unread FROM handed WHERE NOT is_read) AS handed
WHERE feed_id = $1
  AND account_id = $2
