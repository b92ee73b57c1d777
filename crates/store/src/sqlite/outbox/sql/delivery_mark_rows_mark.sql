-- Differs from the other store: one by one, where the other store writes marks and log of many in one statement (MARK).
UPDATE deliveries
SET status = ?4,
    attempts = attempts + ?5,
    logged = logged + 1,
    is_tried = 1,
    next_attempt_at = iif(?4 = 'pending', ?6 + ?7, next_attempt_at),
    last_status = ?8,
    last_error = ?9,
    ended_at = iif(?4 = 'pending', NULL, ?6),
    lease_owner = NULL,
    lease_until = 0,
    lease_fence = lease_fence + 1
WHERE id = ?1
  AND lease_owner = ?2
  AND lease_fence = ?3
  AND status = 'pending'
RETURNING logged
