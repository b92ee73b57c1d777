SELECT entry_id, account_id
FROM entry_states INDEXED BY states_prunable
WHERE is_read = ?3
  AND is_starred = 0
  AND received_at < ?1
ORDER BY received_at
LIMIT ?2
