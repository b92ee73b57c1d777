SELECT entry_id
FROM entry_states INDEXED BY states_newest
WHERE account_id = ?1
LIMIT ?2
