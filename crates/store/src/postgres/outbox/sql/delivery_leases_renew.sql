-- Little for each row: this is done to a thousand of them several times a second. Whoever has a row locked is about to
-- end its lease, or to take it: the next beat will see. Nobody is waited for, so the order of the locks does not matter.
-- 
-- Each row is found by its key: the owner is compared in a way that no index knows, because the planner takes those that
-- are held for few, and would compare each of them with each.
--
-- That a lease was renewed need not survive a crash of the database: it ends earlier then. That is said for this
-- transaction alone.
WITH now AS MATERIALIZED (
    SELECT pirssonite_now_ms() AS ms, set_config('synchronous_commit', 'off', true) AS durability
),
free AS MATERIALIZED (
    SELECT deliveries.ctid
    FROM deliveries
    JOIN unnest($2::bigint[], $3::bigint[]) AS given (id, fence)
        ON deliveries.id = given.id
        AND deliveries.lease_fence = given.fence
    WHERE coalesce(deliveries.lease_owner, '') = $1
      AND deliveries.status = 'pending'
    FOR NO KEY UPDATE OF deliveries SKIP LOCKED
)
UPDATE deliveries
SET lease_until = (SELECT ms FROM now WHERE durability = 'off') + $4,
    lease_ms = $4
WHERE ctid = ANY(ARRAY(SELECT ctid FROM free))
