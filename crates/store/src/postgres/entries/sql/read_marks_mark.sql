WITH before AS MATERIALIZED (
    SELECT entry_id
    FROM entry_states
    WHERE entry_id = ANY($2)
      AND account_id = $1
      AND NOT is_read
    ORDER BY entry_id
    FOR NO KEY UPDATE
), marked AS (
    UPDATE entry_states
    SET is_read = true,
        modified_at = greatest(modified_at, (SELECT pirssonite_now_ms()))
    FROM before
    WHERE entry_states.entry_id = before.entry_id
      AND account_id = $1
    RETURNING entry_states.entry_id, feed_id
), counted AS (
    UPDATE follows
    SET unread_count = unread_count - marked.count
    FROM (SELECT feed_id, count(*) AS count FROM marked GROUP BY feed_id) AS marked
    WHERE follows.feed_id = marked.feed_id
      AND account_id = $1
)
-- Their feed if it is one, and which they are if they are few: `domain::changes::ENTRIES_LISTED_MAX`.
SELECT count(*),
       CASE WHEN min(feed_id) = max(feed_id) THEN min(feed_id) END,
       CASE WHEN count(*) <= 100 THEN array_agg(entry_id ORDER BY entry_id) END
FROM marked
