-- A lease that ran out but that nobody else has taken is still good.
UPDATE deliveries
SET lease_until = ?4 + ?5,
    lease_ms = ?5
WHERE id = ?1
  AND lease_owner = ?2
  AND lease_fence = ?3
  AND status = 'pending'
