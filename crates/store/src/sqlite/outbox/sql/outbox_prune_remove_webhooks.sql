DELETE FROM webhooks
WHERE id = ?1
  AND deleted_at <= ?2
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = ?1)
