WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
held AS MATERIALIZED (
    SELECT feeds.id
    FROM feeds
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
        ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
    ORDER BY feeds.id
    FOR NO KEY UPDATE OF feeds
)
UPDATE feeds
SET next_check_at = greatest(next_check_at, now.ms + $4),
    lease_owner = NULL,
    lease_until = 0
FROM now, held
WHERE feeds.id = held.id
