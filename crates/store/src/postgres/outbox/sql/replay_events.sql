-- Events after a position, up to the time at which the replay began: what happens meanwhile is queued anyway. With the folder
-- that the account keeps their feed in, if it followed it by then and does so still.
SELECT events.id, events.created_at, type, events.feed_id, events.account_id, webhook_id, is_backlog,
       follow.account_id IS NOT NULL, follow.folder_id
FROM events
LEFT JOIN LATERAL (
    SELECT account_id, folder_id
    FROM follows
    WHERE follows.feed_id = events.feed_id
      AND follows.account_id = $5
      AND follows.created_at <= events.created_at
    LIMIT 1
) AS follow ON true
WHERE (events.created_at, events.id) > ($1, $2)
  AND events.created_at <= $3
ORDER BY events.created_at, events.id
LIMIT $4
