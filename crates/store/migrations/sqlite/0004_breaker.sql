-- How receivers stand, in more detail; rates; leases that a clock cannot lengthen. Twin of postgres/0004_breaker.sql.

-- When something last failed.
ALTER TABLE webhooks ADD COLUMN failed_at INTEGER;
-- The breaker is open while probe_at is there: when a row that was tried before may be probed next, when one that was
-- never tried, and how many of the former have failed.
ALTER TABLE webhooks ADD COLUMN probe_new_at INTEGER;
ALTER TABLE webhooks ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
-- Until then its receiver asked to be sent nothing.
ALTER TABLE webhooks ADD COLUMN held_until INTEGER;
-- Requests a second at most, in thousandths; and the time up to which they are taken, with parts of a millisecond.
ALTER TABLE webhooks ADD COLUMN rate_per_second INTEGER;
ALTER TABLE webhooks ADD COLUMN rate_at REAL NOT NULL DEFAULT 0;

UPDATE webhooks
SET failed_at = failing_since,
    probe_new_at = probe_at;

-- How long the lease is that was last taken. One that ends over a minute later than this from now was taken before a clock
-- went back, and counts no more.
ALTER TABLE deliveries ADD COLUMN lease_ms INTEGER NOT NULL DEFAULT 0;

-- A request was made for it.
ALTER TABLE deliveries ADD COLUMN is_tried INTEGER NOT NULL DEFAULT 0;
UPDATE deliveries SET is_tried = 1 WHERE logged > 0;

-- Finding due deliveries walks this from the start of each of a webhook's two lines, those that were never tried and those
-- that were, and stops at the first that is not due.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (webhook_id, is_tried, next_attempt_at, id) WHERE status = 'pending';
