-- Differs from the other store: the other store lists webhooks, and has a statement for those that were removed
-- (outbox_prune_of_removed).
-- Webhooks with what is kept of them for how long at most; nothing is kept of those that were removed.
SELECT id, status, CASE WHEN deleted_at IS NULL THEN kept_ms END
FROM webhooks
CROSS JOIN unnest(ARRAY['delivered', 'cancelled', 'failed', 'pending'], $1::bigint[]) AS kinds (status, kept_ms)
WHERE kept_ms IS NOT NULL OR deleted_at IS NOT NULL
ORDER BY id, status
