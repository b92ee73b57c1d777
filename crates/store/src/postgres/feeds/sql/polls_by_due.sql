SELECT next_check_at, id, lease_until
FROM feeds
WHERE NOT is_gone
  AND (next_check_at, id) > ($1, $2)
ORDER BY next_check_at, id
LIMIT 100
