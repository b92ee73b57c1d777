-- Those that are kept although nobody has them are known as what was pruned.
-- Of each identity the newest. Ranked and not limited for each: a planner that is asked for the first few of many by their
-- ids may walk the entries of all feeds.
SELECT identity, link_trait, title_trait, fingerprint, CASE WHEN is_kept THEN NULL ELSE id END, updated_at,
       changed_at, is_thin
FROM (
    SELECT *, row_number() OVER (PARTITION BY identity ORDER BY id DESC) AS rank
    FROM entries
    WHERE feed_id = $1 AND identity = ANY($2)
) AS ranked
WHERE rank <= $3
UNION ALL
SELECT identity, link_trait, title_trait, fingerprint, NULL, NULL, NULL, NULL
FROM (
    SELECT *, row_number() OVER (PARTITION BY identity) AS rank
    FROM pruned_entries
    WHERE feed_id = $1 AND identity = ANY($2)
) AS ranked
WHERE rank <= $3
ORDER BY 5 NULLS LAST
