-- Differs from the other store: one by one, where the other store queues many in one statement (QUEUE in replay.rs).
SELECT id, status
FROM deliveries
WHERE event_id = ?
  AND webhook_id = ?
