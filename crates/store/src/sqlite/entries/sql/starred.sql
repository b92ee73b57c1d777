SELECT count(*)
FROM entries INDEXED BY entries_starred
WHERE is_starred = 1
