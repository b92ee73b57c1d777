-- Differs from the other store: the other store finds these with the others (outbox_prune_kinds).
SELECT id
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
LIMIT ?
