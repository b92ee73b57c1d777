-- Differs from the other store: one by one, where the other store removes them with what accounts had (prune_remove).
-- Only when nobody has it any more.
DELETE FROM entries
WHERE id = ?1
  AND NOT EXISTS (SELECT 1 FROM entry_states WHERE entry_id = ?1)
RETURNING feed_id, identity, link_trait, title_trait, fingerprint, is_kept
