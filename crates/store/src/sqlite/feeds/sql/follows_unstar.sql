-- Differs from the other store: that one counts what it removes in one statement.
-- What an account has starred in a feed that it leaves counts no more.
UPDATE accounts
SET starred_count = starred_count - (
    SELECT count(*)
    FROM entry_states INDEXED BY states_starred
    WHERE account_id = ?1
      AND is_starred = 1
      AND feed_id = ?2
)
WHERE id = ?1
