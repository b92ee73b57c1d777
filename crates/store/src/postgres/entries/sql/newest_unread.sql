SELECT feed_id, newest.received_at
FROM follows
CROSS JOIN LATERAL (
    SELECT received_at
    FROM entry_states
    WHERE entry_states.account_id = follows.account_id
      AND entry_states.feed_id = follows.feed_id
      AND NOT is_read
    ORDER BY received_at DESC
    LIMIT 1
) AS newest
WHERE account_id = $1
  AND unread_count > 0
ORDER BY feed_id
