-- Differs from the other store: that one writes states with the entries (entry_rows_insert).
-- New entries of a feed, whose ids are in a row, for all who follow it. What fails is undone by whoever asked
-- for it (FAIL): to undo it by itself, the statement would copy aside every page that it changes.
INSERT OR FAIL INTO entry_states (entry_id, account_id, feed_id, folder_id, sort_at, received_at, modified_at)
SELECT entries.id, follows.account_id, entries.feed_id, follows.folder_id, sort_at, received_at, received_at
FROM entries
CROSS JOIN follows
WHERE entries.id BETWEEN ?2 AND ?3
  AND follows.feed_id = ?1
