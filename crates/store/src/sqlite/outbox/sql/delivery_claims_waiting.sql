-- Differs from the other store: the other store finds and claims in one statement (CLAIM in delivery_claims.rs).
-- Who may be sent something, and when the first of each line is due.
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
FROM webhooks
WHERE enabled = 1
  AND deleted_at IS NULL
