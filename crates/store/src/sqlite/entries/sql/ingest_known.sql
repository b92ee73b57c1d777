SELECT id, link_trait, title_trait, fingerprint, updated_at, changed_at, is_thin
FROM entries
WHERE feed_id = ?
  AND identity = ?
ORDER BY id
