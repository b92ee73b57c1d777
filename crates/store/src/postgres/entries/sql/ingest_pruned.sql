SELECT identity, link_trait, title_trait, fingerprint, NULL::bigint
FROM pruned_entries
WHERE feed_id = $1 AND identity = ANY($2)
