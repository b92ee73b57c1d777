-- Differs from the other store: the other store finds and requeues in one statement (REQUEUE_FAILED).
SELECT id
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = 'failed'
  AND id > ?
ORDER BY id
LIMIT ?
