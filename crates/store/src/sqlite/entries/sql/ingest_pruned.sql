SELECT link_trait, title_trait, fingerprint
FROM pruned_entries
WHERE feed_id = ?
  AND identity = ?
LIMIT ?
