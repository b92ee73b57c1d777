WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms),
held AS MATERIALIZED (
    SELECT given.*
    FROM feeds
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
                $9::bytea[], $10::bigint[])
        AS given (id, owner, fence, check_in, audit_in, adaptive_secs, etag, last_modified, body_hash, due_by)
        ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
    WHERE $11 OR NOT feeds.is_failing
    ORDER BY feeds.id
    FOR NO KEY UPDATE OF feeds
)
UPDATE feeds
SET etag = held.etag,
    last_modified = held.last_modified,
    body_hash = held.body_hash,
    last_fetched_at = now.ms,
    next_check_at = least(now.ms + CASE WHEN is_pushed THEN held.audit_in ELSE held.check_in END,
                          CASE WHEN poll_wanted_at > 0 THEN next_check_at END, held.due_by),
    adaptive_secs = held.adaptive_secs,
    failure_count = 0,
    last_error = NULL,
    is_gone = false,
    is_failing = false,
    lease_owner = NULL,
    lease_until = 0
FROM now, held
WHERE feeds.id = held.id
RETURNING feeds.id
