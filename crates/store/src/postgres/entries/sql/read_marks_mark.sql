WITH marked AS (
    UPDATE entries
    SET is_read = true,
        modified_at = greatest(modified_at, (SELECT pirssonite_now_ms()))
    WHERE id = ANY($1)
      AND NOT is_read
    RETURNING feed_id
), counted AS (
    UPDATE feeds
    SET unread_count = unread_count - marked.count
    FROM (SELECT feed_id, count(*) AS count FROM marked GROUP BY feed_id) AS marked
    WHERE feeds.id = marked.feed_id
)
SELECT count(*)
FROM marked
