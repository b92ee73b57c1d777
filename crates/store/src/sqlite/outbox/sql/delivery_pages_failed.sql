-- Differs from the other store: a count each, where the other store has one statement for all (OVERVIEW in
-- delivery_pages.rs).
SELECT count(*)
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = 'failed'
