-- Differs from the other store: one by one, where the other store has one statement (prune_remove_entries).
-- Nobody has it any more, and the last document of its feed holds it: it is kept.
UPDATE entries
SET is_kept = 1
WHERE id = ?1
  AND is_kept = 0
  AND NOT EXISTS (SELECT 1 FROM entry_states WHERE entry_id = ?1)
  AND EXISTS (
      SELECT 1
      FROM last_documents
      WHERE last_documents.feed_id = entries.feed_id
        AND instr(identities, entries.identity) > 0
  )
RETURNING feed_id
