-- Differs from the other store: that one finds and removes them in one statement.
-- Entries that nobody has any more.
SELECT id
FROM entries INDEXED BY entries_of_feed
WHERE feed_id = ?
  AND NOT EXISTS (SELECT 1 FROM entry_states WHERE entry_id = entries.id)
