-- Differs from the other store: the other store finds and claims in one statement (CLAIM in delivery_claims.rs).
-- Who may be sent something, and when the first of each queue is due. Steps from one webhook with pending deliveries to the
-- next: those that have none cost nothing.
WITH RECURSIVE pending (webhook_id) AS (
    SELECT (
        SELECT webhook_id
        FROM deliveries INDEXED BY deliveries_due
        WHERE status = 'pending'
        ORDER BY webhook_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT webhook_id
        FROM deliveries INDEXED BY deliveries_due
        WHERE status = 'pending'
          AND webhook_id > pending.webhook_id
        ORDER BY webhook_id
        LIMIT 1
    )
    FROM pending
    WHERE pending.webhook_id IS NOT NULL
)
SELECT id, probe_at, probe_new_at, probes, held_until, rate_per_second, rate_at, (
    SELECT next_attempt_at
    FROM deliveries INDEXED BY deliveries_due
    WHERE webhook_id = webhooks.id
      AND is_tried = 0
      AND status = 'pending'
    ORDER BY next_attempt_at
    LIMIT 1
), (
    SELECT next_attempt_at
    FROM deliveries INDEXED BY deliveries_due
    WHERE webhook_id = webhooks.id
      AND is_tried = 1
      AND status = 'pending'
    ORDER BY next_attempt_at
    LIMIT 1
)
FROM pending
CROSS JOIN webhooks ON webhooks.id = pending.webhook_id
WHERE enabled = 1
  AND deleted_at IS NULL
