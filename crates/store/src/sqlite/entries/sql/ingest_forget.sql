DELETE FROM pruned_entries
WHERE feed_id = ?
  AND identity = ?
  AND link_trait = ?
  AND title_trait = ?
  AND fingerprint = ?
