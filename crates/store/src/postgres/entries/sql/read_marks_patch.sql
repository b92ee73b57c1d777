-- Differs from the other store: many at once, where the other store patches one by one (patch).
-- Nothing for those that are so already.
WITH before AS MATERIALIZED (
    SELECT entry_id, is_read, is_starred
    FROM entry_states
    WHERE entry_id = ANY($2)
      AND account_id = $1
      AND (is_read <> coalesce($3, is_read) OR is_starred <> coalesce($4, is_starred))
    ORDER BY entry_id
    FOR NO KEY UPDATE
), patched AS (
    UPDATE entry_states
    SET is_read = coalesce($3, entry_states.is_read),
        is_starred = coalesce($4, entry_states.is_starred),
        modified_at = greatest(entry_states.modified_at, (SELECT pirssonite_now_ms()))
    FROM before
    WHERE entry_states.entry_id = before.entry_id
      AND account_id = $1
    RETURNING entry_states.entry_id, feed_id, before.is_read::int - entry_states.is_read::int AS unread,
              entry_states.is_starred::int - before.is_starred::int AS starred
), counted AS (
    UPDATE follows
    SET unread_count = unread_count + marked.unread
    FROM (SELECT feed_id, sum(unread) AS unread FROM patched GROUP BY feed_id) AS marked
    WHERE follows.feed_id = marked.feed_id
      AND account_id = $1
      AND marked.unread <> 0
), starred AS (
    UPDATE accounts
    SET starred_count = starred_count + marked.starred
    FROM (SELECT sum(starred) AS starred FROM patched) AS marked
    WHERE id = $1
      AND marked.starred <> 0
)
-- Their feed if it is one, and which they are if they are few: `domain::changes::ENTRIES_LISTED_MAX`.
SELECT count(*),
       CASE WHEN min(feed_id) = max(feed_id) THEN min(feed_id) END,
       CASE WHEN count(*) <= 100 THEN array_agg(entry_id ORDER BY entry_id) END
FROM patched
