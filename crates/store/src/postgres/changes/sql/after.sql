-- What was pruned is told by the same look at the database.
SELECT floor.number, changes.number, changes.kind, changes.account_id, changes.feed_id, changes.count, changes.entry_ids,
       changes.at
FROM change_floor AS floor
LEFT JOIN LATERAL (
    SELECT number, kind, account_id, feed_id, count, entry_ids, at
    FROM changes
    WHERE number > $1
    ORDER BY number
    LIMIT $2
) AS changes ON true
ORDER BY changes.number
