-- Differs from the other store: a look each, where the other store has one statement for all (OVERVIEW in
-- delivery_pages.rs).
SELECT created_at
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = 'pending'
ORDER BY id
LIMIT 1
