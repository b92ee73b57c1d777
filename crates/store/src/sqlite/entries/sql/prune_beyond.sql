-- Of those beyond, what may go. Unread ones are passed over in the index.
SELECT entry_id, account_id
FROM entry_states INDEXED BY states_prunable_of_feed
WHERE feed_id = ?
  AND is_read = 1
  AND is_starred = 0
  AND (sort_at, entry_id) <= (?, ?)
ORDER BY sort_at DESC, entry_id DESC
LIMIT ?
