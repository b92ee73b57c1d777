-- Differs from the other store: many at once, where the other store patches one by one (patch).
-- Nothing for those that are so already.
WITH before AS MATERIALIZED (
    SELECT id, is_read
    FROM entries
    WHERE id = ANY($1)
      AND (is_read <> coalesce($2, is_read) OR is_starred <> coalesce($3, is_starred))
    FOR UPDATE
), patched AS (
    UPDATE entries
    SET is_read = coalesce($2, entries.is_read),
        is_starred = coalesce($3, entries.is_starred),
        modified_at = greatest(entries.modified_at, (SELECT pirssonite_now_ms()))
    FROM before
    WHERE entries.id = before.id
    RETURNING entries.id, entries.feed_id, before.is_read::int - entries.is_read::int AS unread
), counted AS (
    UPDATE feeds
    SET unread_count = unread_count + marked.unread
    FROM (SELECT feed_id, sum(unread) AS unread FROM patched GROUP BY feed_id) AS marked
    WHERE feeds.id = marked.feed_id
      AND marked.unread <> 0
)
-- Their feed if it is one, and which they are if they are few: `domain::changes::ENTRIES_LISTED_MAX`.
SELECT count(*),
       CASE WHEN min(feed_id) = max(feed_id) THEN min(feed_id) END,
       CASE WHEN count(*) <= 100 THEN array_agg(id ORDER BY id) END
FROM patched
