-- Differs from the other store, which reads this with the lease (finish_held.sql), because here it is read for many feeds
-- before any is locked; the statements that write are guarded by it.
SELECT feeds.id, failure_count, is_failing, is_gone
FROM feeds
JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (id, owner, fence)
    ON feeds.id = given.id AND feeds.lease_owner = given.owner AND feeds.lease_fence = given.fence
