-- Differs from the other store: one writer needs no order there (outbox/sql/webhooks_delete_all.sql).
-- Locked in order, as by whoever marks deliveries.
WITH held AS MATERIALIZED (
    SELECT id
    FROM webhooks
    WHERE account_id = $1
      AND deleted_at IS NULL
    ORDER BY id
    FOR NO KEY UPDATE
)
UPDATE webhooks
SET deleted_at = (SELECT pirssonite_now_ms()),
    enabled = false
FROM held
WHERE webhooks.id = held.id
