SELECT identity, link_trait, title_trait, fingerprint, id, updated_at, changed_at, is_thin
FROM entries
WHERE feed_id = $1 AND identity = ANY($2)
UNION ALL
SELECT identity, link_trait, title_trait, fingerprint, NULL, NULL, NULL, NULL
FROM pruned_entries
WHERE feed_id = $1 AND identity = ANY($2)
ORDER BY 5 NULLS LAST
