-- Differs from the other store: entries go one by one there (prune_remove).
-- What nobody has any more; the feeds' rows are locked.
WITH removed AS (
    DELETE FROM entries
    WHERE id = ANY($1)
      AND NOT EXISTS (SELECT FROM entry_states WHERE entry_id = entries.id)
    RETURNING feed_id, identity, link_trait, title_trait, fingerprint
), remembered AS (
    INSERT INTO pruned_entries (feed_id, identity, link_trait, title_trait, fingerprint)
    SELECT feed_id, identity, link_trait, title_trait, fingerprint
    FROM removed
    ON CONFLICT DO NOTHING
)
UPDATE feeds
SET entry_count = entry_count - removed.count
FROM (SELECT feed_id, count(*) AS count FROM removed GROUP BY feed_id) AS removed
WHERE feeds.id = removed.feed_id
