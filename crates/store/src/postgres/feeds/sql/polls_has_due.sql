SELECT id
FROM feeds
WHERE NOT is_gone
  AND next_check_at <= (SELECT pirssonite_now_ms())
  AND NOT is_pushed
ORDER BY next_check_at, id
LIMIT 1
