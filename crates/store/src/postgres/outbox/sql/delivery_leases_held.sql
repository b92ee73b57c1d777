-- Differs from the other store: many at once, where the other store counts the rows that each renewal touched
-- (delivery_leases_renew).
-- Those that are held, renewed or only locked.
SELECT deliveries.id
FROM deliveries
JOIN unnest($2::bigint[], $3::bigint[]) AS given (id, fence)
    ON deliveries.id = given.id
    AND deliveries.lease_fence = given.fence
WHERE coalesce(deliveries.lease_owner, '') = $1
  AND deliveries.status = 'pending'
