-- Differs from the other store, which has one writer and locks nothing.
SELECT follows.feed_id
FROM follows
JOIN (SELECT DISTINCT feed_id, account_id FROM unnest($1::bigint[], $2::bigint[]) AS given (feed_id, account_id)) AS given
    ON follows.feed_id = given.feed_id
    AND follows.account_id = given.account_id
ORDER BY follows.feed_id, follows.account_id
FOR NO KEY UPDATE OF follows
