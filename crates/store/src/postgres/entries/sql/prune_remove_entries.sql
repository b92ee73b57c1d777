-- Differs from the other store: entries go one by one there (prune_keep, prune_remove).
-- What nobody has any more is removed and remembered or, if it may ($2) and the last document of its feed holds it, kept; the
-- feeds' rows are locked.
WITH left_over AS MATERIALIZED (
    SELECT entries.id, $2 AND EXISTS (
        SELECT
        FROM last_documents
        WHERE last_documents.feed_id = entries.feed_id
          AND position(entries.identity IN identities) > 0
    ) AS is_held
    FROM entries
    WHERE id = ANY($1)
      AND NOT is_kept
      AND NOT EXISTS (SELECT FROM entry_states WHERE entry_id = entries.id)
), kept AS (
    UPDATE entries
    SET is_kept = true
    FROM left_over
    WHERE entries.id = left_over.id
      AND is_held
    RETURNING feed_id
), removed AS (
    DELETE FROM entries
    USING left_over
    WHERE entries.id = left_over.id
      AND NOT is_held
    RETURNING feed_id, identity, link_trait, title_trait, fingerprint
), remembered AS (
    INSERT INTO pruned_entries (feed_id, identity, link_trait, title_trait, fingerprint)
    SELECT feed_id, identity, link_trait, title_trait, fingerprint
    FROM removed
    ON CONFLICT DO NOTHING
)
UPDATE feeds
SET entry_count = entry_count - gone.count
FROM (
    SELECT feed_id, count(*) AS count
    FROM (SELECT feed_id FROM kept UNION ALL SELECT feed_id FROM removed) AS gone
    GROUP BY feed_id
) AS gone
WHERE feeds.id = gone.feed_id
