-- Guarded once more: it may have been starred, or marked as unread, since it was found. Nobody else changes what a follower
-- has whose row is locked.
WITH removed AS (
    DELETE FROM entry_states
    USING (
        SELECT DISTINCT entry_id, account_id
        FROM unnest($1::bigint[], $2::bigint[]) AS given (entry_id, account_id)
    ) AS given
    WHERE entry_states.entry_id = given.entry_id
      AND entry_states.account_id = given.account_id
      AND (is_read OR received_at < $3)
      AND NOT is_starred
    RETURNING entry_states.entry_id, feed_id, entry_states.account_id, is_read
), counted AS (
    UPDATE follows
    SET unread_count = unread_count - removed.unread
    FROM (
        SELECT feed_id, account_id, count(*) AS unread
        FROM removed
        WHERE NOT is_read
        GROUP BY feed_id, account_id
    ) AS removed
    WHERE follows.feed_id = removed.feed_id
      AND follows.account_id = removed.account_id
)
SELECT entry_id
FROM removed
