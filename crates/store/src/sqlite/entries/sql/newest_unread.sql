SELECT feed_id,
       (
           SELECT received_at
           FROM entry_states INDEXED BY states_unread_received_of_feed
           WHERE entry_states.account_id = follows.account_id
             AND entry_states.feed_id = follows.feed_id
             AND is_read = 0
           ORDER BY received_at DESC
           LIMIT 1
       )
FROM follows INDEXED BY follows_of_account
WHERE account_id = ?
  AND unread_count > 0
ORDER BY feed_id
