-- Guarded once more: an entry may have been starred, or marked as unread, since it was found.
WITH removed AS (
    DELETE FROM entries
    WHERE id = ANY($1)
      AND (is_read OR received_at < $2)
      AND NOT is_starred
    RETURNING feed_id, identity, link_trait, title_trait, fingerprint, is_read
), remembered AS (
    INSERT INTO pruned_entries (feed_id, identity, link_trait, title_trait, fingerprint)
    SELECT feed_id, identity, link_trait, title_trait, fingerprint
    FROM removed
    ON CONFLICT DO NOTHING
), counted AS (
    UPDATE feeds
    SET entry_count = entry_count - removed.count,
        unread_count = unread_count - removed.unread
    FROM (
        SELECT feed_id, count(*) AS count, count(*) FILTER (WHERE NOT is_read) AS unread
        FROM removed
        GROUP BY feed_id
    ) AS removed
    WHERE feeds.id = removed.feed_id
)
SELECT count(*)
FROM removed
