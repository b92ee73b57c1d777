-- How receivers stand, in more detail; rates; leases that a clock cannot lengthen. Twin of sqlite/0004_breaker.sql.

ALTER TABLE webhooks
    -- When something last failed.
    ADD COLUMN failed_at bigint,
    -- The breaker is open while probe_at is there: when a row that was tried before may be probed next, when one that was
    -- never tried, and how many of the former have failed.
    ADD COLUMN probe_new_at bigint,
    ADD COLUMN probes bigint NOT NULL DEFAULT 0,
    -- Until then its receiver asked to be sent nothing.
    ADD COLUMN held_until bigint,
    -- Requests a second at most, in thousandths; and the time up to which they are taken, with parts of a millisecond.
    ADD COLUMN rate_per_second bigint,
    ADD COLUMN rate_at double precision NOT NULL DEFAULT 0;

UPDATE webhooks
SET failed_at = failing_since,
    probe_new_at = probe_at;

ALTER TABLE deliveries
    -- How long the lease is that was last taken. One that ends over a minute later than this from now was taken before a
    -- clock went back, and counts no more; the minute is for whoever asked for the time a moment before it was taken.
    ADD COLUMN lease_ms bigint NOT NULL DEFAULT 0,
    -- A request was made for it.
    ADD COLUMN is_tried boolean NOT NULL DEFAULT false;

UPDATE deliveries
SET is_tried = true
WHERE logged > 0;

-- Finding due deliveries walks this from the start of each of a webhook's two lines, those that were never tried and those
-- that were, and stops at the first that is not due.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (webhook_id, is_tried, next_attempt_at, id) WHERE status = 'pending';

-- Whether anybody sends to a webhook just now. It is volatile on purpose: asked after the webhook's row was locked, it
-- sees what was committed before that, and not only before its statement began.
CREATE OR REPLACE FUNCTION pirssonite_is_held(webhook bigint, now bigint) RETURNS boolean
    LANGUAGE sql
    VOLATILE
    AS $$
        SELECT EXISTS (
            SELECT
            FROM deliveries
            WHERE webhook_id = webhook
              AND lease_owner IS NOT NULL
              AND lease_until > now
              AND lease_until <= now + lease_ms + 60000
              AND status = 'pending'
        )
    $$;
