-- Whoever sends it just now has lost the lease.
UPDATE deliveries
SET status = 'cancelled',
    reason = ?2,
    ended_at = ?3,
    lease_owner = NULL,
    lease_until = 0,
    lease_fence = lease_fence + 1
WHERE id = ?1
