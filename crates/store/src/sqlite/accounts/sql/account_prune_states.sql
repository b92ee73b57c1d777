-- Differs from the other store: the writer goes from row to row; the other store removes in one statement.
SELECT entry_id
FROM entry_states INDEXED BY states_newest
WHERE account_id = ?1
LIMIT ?2
