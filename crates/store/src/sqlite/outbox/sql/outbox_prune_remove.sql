-- Guarded once more: it may have been queued again since it was found.
DELETE FROM deliveries
WHERE id = ?1
  AND (status IN ('delivered', 'cancelled') AND ended_at < ?2
       OR status = 'failed' AND ended_at < ?3
       OR EXISTS (SELECT 1 FROM webhooks WHERE id = deliveries.webhook_id AND deleted_at IS NOT NULL))
