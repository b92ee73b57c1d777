-- A delivery whose event nobody can read can never be sent.
WITH held AS MATERIALIZED (
    SELECT deliveries.id
    FROM deliveries
    JOIN unnest($2::bigint[], $3::bigint[]) AS given (id, fence)
        ON deliveries.id = given.id
        AND deliveries.lease_fence = given.fence
    WHERE deliveries.lease_owner = $1
      AND deliveries.status = 'pending'
    ORDER BY deliveries.id
    FOR NO KEY UPDATE OF deliveries
)
UPDATE deliveries
SET status = 'failed',
    last_error = 'its event is gone',
    ended_at = (SELECT pirssonite_now_ms()),
    lease_owner = NULL,
    lease_until = 0
WHERE id = ANY(ARRAY(SELECT id FROM held))
