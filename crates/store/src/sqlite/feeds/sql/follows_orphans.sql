-- Differs from the other store: that one finds and removes them in one statement.
-- Entries that nobody has any more, but for those that are kept.
SELECT id
FROM entries INDEXED BY entries_of_feed
WHERE feed_id = ?1
  AND NOT EXISTS (SELECT 1 FROM entry_states WHERE entry_id = entries.id)
  AND NOT EXISTS (
      SELECT 1
      FROM entries AS kept INDEXED BY entries_kept
      WHERE kept.feed_id = ?1
        AND kept.is_kept = 1
        AND kept.id = entries.id
  )
