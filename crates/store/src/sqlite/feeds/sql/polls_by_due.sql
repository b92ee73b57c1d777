SELECT next_check_at, lease_until
FROM feeds INDEXED BY feeds_due
WHERE is_gone = 0
ORDER BY next_check_at
