-- Differs from the other store: one version, where the other store deletes many (ingest_forget_these); its
-- ingest_forget is what SQLite does in Rust.
DELETE FROM pruned_entries
WHERE feed_id = ?
  AND identity = ?
  AND link_trait = ?
  AND title_trait = ?
  AND fingerprint = ?
