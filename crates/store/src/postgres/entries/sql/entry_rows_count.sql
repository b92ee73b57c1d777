-- Differs from the other store: many feeds at once, and their followers are locked in order before anything of theirs is
-- written.
WITH held AS MATERIALIZED (
    SELECT follows.feed_id, follows.account_id, given.count
    FROM unnest($1::bigint[], $2::bigint[]) AS given (feed_id, count)
    JOIN follows ON follows.feed_id = given.feed_id
    ORDER BY follows.feed_id, follows.account_id
    FOR NO KEY UPDATE OF follows
)
UPDATE follows
SET unread_count = unread_count + held.count
FROM held
WHERE follows.feed_id = held.feed_id
  AND follows.account_id = held.account_id
