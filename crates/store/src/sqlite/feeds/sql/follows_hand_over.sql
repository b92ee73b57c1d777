-- All entries of a feed for one who begins to follow it: those that are given (4) unread.
INSERT INTO entry_states (entry_id, account_id, feed_id, folder_id, sort_at, received_at, modified_at, is_read)
SELECT entries.id, follows.account_id, entries.feed_id, follows.folder_id, entries.sort_at, ?3, ?3,
       entries.id NOT IN (SELECT value FROM json_each(?4))
FROM follows
CROSS JOIN entries INDEXED BY entries_of_feed
WHERE follows.feed_id = ?1
  AND follows.account_id = ?2
  AND entries.feed_id = ?1
