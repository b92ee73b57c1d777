-- A feed that is being polled just now is polled once more: what it holds may be older than the request. One that is gone
-- is not woken.
UPDATE feeds
SET poll_wanted_at = ?2,
    next_check_at = iif(lease_until > ?2, ?2 + ?3, min(next_check_at, ?2 + ?3))
WHERE id = ?1
  AND is_gone = 0
