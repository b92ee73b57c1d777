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
    RETURNING entries.feed_id, before.is_read::int - entries.is_read::int AS unread
), counted AS (
    UPDATE feeds
    SET unread_count = unread_count + marked.unread
    FROM (SELECT feed_id, sum(unread) AS unread FROM patched GROUP BY feed_id) AS marked
    WHERE feeds.id = marked.feed_id
      AND marked.unread <> 0
)
SELECT count(*)
FROM patched
