UPDATE deliveries
SET lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
  AND lease_owner = ?2
  AND lease_fence = ?3
  AND status = 'pending'
