WITH held AS MATERIALIZED (
    SELECT subscriptions.id
    FROM subscriptions
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
        ON subscriptions.id = given.id
        AND subscriptions.lease_owner = given.owner
        AND subscriptions.lease_fence = given.fence
    ORDER BY subscriptions.id
    FOR NO KEY UPDATE OF subscriptions
)
UPDATE subscriptions
SET lease_owner = NULL,
    lease_until = 0
FROM held
WHERE subscriptions.id = held.id
RETURNING next_step_at, subscriptions.id
