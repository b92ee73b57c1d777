-- The mark of an attempt that is under way finds no lease.
UPDATE deliveries
SET status = 'cancelled',
    reason = $2,
    ended_at = (SELECT pirssonite_now_ms()),
    lease_owner = NULL,
    lease_until = 0,
    lease_fence = lease_fence + 1
WHERE id = $1
