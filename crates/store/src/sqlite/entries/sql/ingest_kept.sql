-- Differs from the other store: it returns these where it forgets what was pruned (ingest_forget).
SELECT id, identity, link_trait, title_trait, fingerprint
FROM entries INDEXED BY entries_kept
WHERE feed_id = ?
  AND is_kept = 1
