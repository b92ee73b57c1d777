-- Differs from the other store: the other store puts it together from a piece that several statements share (REQUEUE).
-- As if it were new, but for its log: it has all its attempts again.
UPDATE deliveries
SET status = 'pending',
    attempts = 0,
    next_attempt_at = ?2,
    last_status = NULL,
    last_error = NULL,
    reason = NULL,
    ended_at = NULL,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
