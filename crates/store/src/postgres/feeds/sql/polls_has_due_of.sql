SELECT id
FROM follows
JOIN feeds ON feeds.id = feed_id
WHERE account_id = $1
  AND NOT is_gone
  AND next_check_at <= (SELECT pirssonite_now_ms())
  AND NOT is_pushed
LIMIT 1
