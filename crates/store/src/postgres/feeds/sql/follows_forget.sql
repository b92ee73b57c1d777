-- What an account has of a feed that it leaves goes; what it has starred there counts no more. The follow's row is locked, and
-- the feed's: nobody else changes these.
WITH gone AS (
    DELETE FROM entry_states
    USING entries
    WHERE entries.feed_id = $1
      AND entry_states.entry_id = entries.id
      AND account_id = $2
    RETURNING entry_id, is_starred
), counted AS (
    UPDATE accounts
    SET starred_count = starred_count - gone.starred
    FROM (SELECT count(*) AS starred FROM gone WHERE is_starred) AS gone
    WHERE id = $2
      AND gone.starred > 0
)
SELECT entry_id
FROM gone
