WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
held AS MATERIALIZED (
    SELECT given.*
    FROM feeds
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[],
                $8::bigint[])
        AS given (id, owner, fence, check_in, adaptive_secs, error, is_gone, due_by)
        ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
    WHERE $9
       OR CASE
              WHEN given.is_gone THEN feeds.is_gone
              ELSE given.due_by IS NOT NULL OR feeds.is_failing OR feeds.failure_count + 1 <> $10
          END
    ORDER BY feeds.id
    FOR NO KEY UPDATE OF feeds
)
UPDATE feeds
SET next_check_at = least(now.ms + held.check_in,
                          CASE WHEN poll_wanted_at > 0 THEN next_check_at END, held.due_by),
    adaptive_secs = held.adaptive_secs,
    failure_count = greatest(failure_count + CASE WHEN held.due_by IS NULL THEN 1 ELSE 0 END, 1),
    last_error = held.error,
    is_gone = feeds.is_gone OR held.is_gone,
    is_failing = is_failing OR NOT held.is_gone AND held.due_by IS NULL AND failure_count + 1 = $10,
    lease_owner = NULL,
    lease_until = 0
FROM now, held
WHERE feeds.id = held.id
RETURNING feeds.id
