-- Differs from the other store: one by one, where the other store finds and claims in one statement (CLAIM in
-- delivery_claims.rs).
UPDATE deliveries
SET lease_owner = ?2,
    lease_until = ?3 + ?4,
    lease_ms = ?4,
    lease_fence = ?5
WHERE id = ?1
