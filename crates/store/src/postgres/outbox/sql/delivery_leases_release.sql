WITH held AS MATERIALIZED (
    SELECT deliveries.id
    FROM deliveries
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
        ON deliveries.id = given.id
        AND deliveries.lease_owner = given.owner
        AND deliveries.lease_fence = given.fence
    WHERE deliveries.status = 'pending'
    ORDER BY deliveries.id
    FOR NO KEY UPDATE OF deliveries
)
UPDATE deliveries
SET lease_owner = NULL,
    lease_until = 0
WHERE id = ANY(ARRAY(SELECT id FROM held))
RETURNING webhook_id, is_tried, next_attempt_at, id
