-- As they stand now: one that was queued again meanwhile stays.
WITH held AS MATERIALIZED (
    SELECT id
    FROM deliveries
    WHERE id = ANY($1)
      AND status = $2
      AND coalesce(ended_at, created_at) < $3
    ORDER BY id
    FOR UPDATE
),
logs AS (
    DELETE FROM attempts
    WHERE delivery_id = ANY(ARRAY(SELECT id FROM held))
)
DELETE FROM deliveries
WHERE id = ANY(ARRAY(SELECT id FROM held))
