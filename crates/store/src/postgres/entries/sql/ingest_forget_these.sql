-- Differs from the other store: many at once, where the other store deletes one by one (ingest_forget).
DELETE FROM pruned_entries
USING unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[]) AS gone (identity, link_trait, title_trait, fingerprint)
WHERE feed_id = $1
  AND pruned_entries.identity = gone.identity
  AND pruned_entries.link_trait = gone.link_trait
  AND pruned_entries.title_trait = gone.title_trait
  AND pruned_entries.fingerprint = gone.fingerprint
