-- Whoever has the row locked is about to end its lease, or to take it: the next beat will see. That a lease was renewed
-- need not survive a crash of the database: it ends earlier then. That is said for this transaction alone.
WITH now AS MATERIALIZED (
    SELECT pirssonite_now_ms() AS ms, set_config('synchronous_commit', 'off', true) AS durability
),
held AS MATERIALIZED (
    SELECT feeds.id
    FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
    JOIN feeds ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
),
free AS MATERIALIZED (
    SELECT feeds.id
    FROM feeds
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
        ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
    ORDER BY feeds.id
    FOR NO KEY UPDATE OF feeds SKIP LOCKED
),
renewed AS (
    UPDATE feeds
    SET lease_until = now.ms + $4
    FROM now, free
    WHERE feeds.id = free.id
      AND now.durability = 'off'
)
SELECT id
FROM held
