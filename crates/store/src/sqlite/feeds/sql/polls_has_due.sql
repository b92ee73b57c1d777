SELECT 1
FROM feeds INDEXED BY feeds_due
WHERE is_gone = 0
  AND next_check_at <= ?1
  AND is_pushed = 0
LIMIT 1
