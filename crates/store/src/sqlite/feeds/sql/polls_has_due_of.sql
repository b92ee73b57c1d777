SELECT 1
FROM follows INDEXED BY follows_of_account
CROSS JOIN feeds ON feeds.id = feed_id
WHERE account_id = ?2
  AND is_gone = 0
  AND next_check_at <= ?1
  AND is_pushed = 0
LIMIT 1
