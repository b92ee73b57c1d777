-- A step of the walk in next_at: few rows, because it mostly ends at the first.
SELECT next_check_at, id, lease_until
FROM feeds
WHERE NOT is_gone
  AND (next_check_at, id) > ($1, $2)
ORDER BY next_check_at, id
LIMIT 100
