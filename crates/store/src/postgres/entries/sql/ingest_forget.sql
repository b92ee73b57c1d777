-- Differs from the other store: the other store deletes one by one, as Rust finds them (ingest_forget there is
-- ingest_forget_these here).
DELETE FROM pruned_entries
WHERE feed_id = $1 AND NOT identity = ANY($2)
