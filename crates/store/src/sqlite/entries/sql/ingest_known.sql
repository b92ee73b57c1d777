-- The newest; read in the order of their ids.
SELECT id, link_trait, title_trait, fingerprint, updated_at, changed_at, is_thin, is_kept
FROM entries
WHERE feed_id = ?
  AND identity = ?
ORDER BY id DESC
LIMIT ?
