-- What an account has of a feed that it leaves goes, or so much of it; what it has starred there counts no more. The follow's
-- row is locked, and the feed's: nobody else changes these.
WITH chosen AS MATERIALIZED (
    SELECT state.entry_id
    FROM entries
    CROSS JOIN LATERAL (
        SELECT entry_id
        FROM entry_states
        WHERE entry_states.entry_id = entries.id
          AND account_id = $2
        LIMIT 1
    ) AS state
    WHERE entries.feed_id = $1
    LIMIT $3
), gone AS (
    DELETE FROM entry_states
    USING chosen
    WHERE entry_states.entry_id = chosen.entry_id
      AND account_id = $2
    RETURNING entry_states.entry_id, is_read, is_starred
), unread AS (
    UPDATE follows
    SET unread_count = unread_count - gone.unread
    FROM (SELECT count(*) AS unread FROM gone WHERE NOT is_read) AS gone
    WHERE feed_id = $1
      AND account_id = $2
      AND gone.unread > 0
), starred AS (
    UPDATE accounts
    SET starred_count = starred_count - gone.starred
    FROM (SELECT count(*) AS starred FROM gone WHERE is_starred) AS gone
    WHERE id = $2
      AND gone.starred > 0
)
SELECT entry_id
FROM gone
