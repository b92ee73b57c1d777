-- Differs from the other store: the other store deletes one by one, as Rust finds them (ingest_forget there is
-- ingest_forget_these here).
-- Those that are kept although nobody has them are returned.
WITH forgotten AS (
    DELETE FROM pruned_entries
    WHERE feed_id = $1 AND NOT identity = ANY($2)
)
SELECT identity, link_trait, title_trait, fingerprint, id
FROM entries
WHERE feed_id = $1
  AND is_kept
