-- One that is to be disabled is given the reason.
UPDATE webhooks
SET failures = given.failures,
    failing_since = given.failing_since,
    failed_at = given.failed_at,
    probes = given.probes,
    probe_at = given.probe_at,
    probe_new_at = given.probe_new_at,
    held_until = given.held_until,
    enabled = enabled AND given.disable IS NULL,
    disabled_reason = coalesce(given.disable, disabled_reason)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
            $8::bigint[], $9::text[])
    AS given (id, failures, failing_since, failed_at, probes, probe_at, probe_new_at, held_until, disable)
WHERE webhooks.id = given.id
