WITH held AS MATERIALIZED (
    SELECT feeds.id
    FROM feeds
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
        ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
    ORDER BY feeds.id
    FOR NO KEY UPDATE OF feeds
)
UPDATE feeds
SET lease_owner = NULL,
    lease_until = 0
FROM held
WHERE feeds.id = held.id
RETURNING next_check_at, feeds.id
