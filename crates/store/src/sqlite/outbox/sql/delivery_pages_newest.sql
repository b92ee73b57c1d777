-- Differs from the other store: ids of one webhook and status, merged in Rust; the other store has one statement (PAGE).
SELECT id
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = ?
  AND id < ?
  AND id > ?
ORDER BY id DESC
LIMIT ?
