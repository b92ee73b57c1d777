SELECT id
FROM feeds
WHERE NOT is_gone
  AND next_check_at <= (SELECT pirssonite_now_ms())
ORDER BY next_check_at, id
LIMIT $1
