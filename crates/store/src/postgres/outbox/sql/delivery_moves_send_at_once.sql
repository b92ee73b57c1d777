-- What waits for a later time, of whichever queue. Rows that somebody has locked are being marked: they are left at the
-- time that this gives them.
WITH later AS MATERIALIZED (
    SELECT id
    FROM deliveries
    WHERE webhook_id = $1
      AND status = 'pending'
      AND next_attempt_at > $2
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE deliveries
SET next_attempt_at = $2
WHERE id = ANY(ARRAY(SELECT id FROM later))
