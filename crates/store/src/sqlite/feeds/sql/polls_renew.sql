UPDATE feeds
SET lease_until = ?4
WHERE id = ?1
  AND lease_owner = ?2
  AND lease_fence = ?3
