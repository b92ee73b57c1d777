-- Differs from the other store: it names its index; that of the other store is one line (STARRED).
SELECT count(*)
FROM entries INDEXED BY entries_starred
WHERE is_starred = 1
