SELECT id
FROM feeds INDEXED BY feeds_due
WHERE is_gone = 0
  AND next_check_at <= ?1
ORDER BY next_check_at, id
LIMIT ?2
