WITH marked AS (
    UPDATE entries
    SET is_read = true,
        modified_at = greatest(modified_at, (SELECT pirssonite_now_ms()))
    WHERE id = ANY($1)
      AND NOT is_read
    RETURNING id, feed_id
), counted AS (
    UPDATE feeds
    SET unread_count = unread_count - marked.count
    FROM (SELECT feed_id, count(*) AS count FROM marked GROUP BY feed_id) AS marked
    WHERE feeds.id = marked.feed_id
)
-- Their feed if it is one, and which they are if they are few: `domain::changes::ENTRIES_LISTED_MAX`.
SELECT count(*),
       CASE WHEN min(feed_id) = max(feed_id) THEN min(feed_id) END,
       CASE WHEN count(*) <= 100 THEN array_agg(id ORDER BY id) END
FROM marked
