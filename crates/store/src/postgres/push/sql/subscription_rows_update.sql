-- All that may change, but for the lease, which may only end with it.
UPDATE subscriptions
SET base_url = given.base_url,
    state = given.state,
    is_current = given.is_current,
    lease_secs = given.lease_secs,
    expires_at = given.expires_at,
    activated_at = given.activated_at,
    verified_at = given.verified_at,
    asked = given.asked,
    verify_by = given.verify_by,
    error_count = given.error_count,
    last_error = given.last_error,
    last_push_at = given.last_push_at,
    push_count = given.push_count,
    miss_count = given.miss_count,
    misses_in_row = given.misses_in_row,
    secrets = given.secrets,
    next_step_at = given.next_step_at,
    retry_at = given.retry_at,
    lease_owner = CASE WHEN given.ends_lease THEN NULL ELSE lease_owner END,
    lease_until = CASE WHEN given.ends_lease THEN 0 ELSE lease_until END
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
            $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[], $15::bigint[],
            $16::bigint[], $17::text[], $18::bigint[], $19::bigint[], $20::boolean[])
    AS given (id, base_url, state, is_current, lease_secs, expires_at, activated_at, verified_at, asked, verify_by,
              error_count, last_error, last_push_at, push_count, miss_count, misses_in_row, secrets, next_step_at,
              retry_at, ends_lease)
WHERE subscriptions.id = given.id
