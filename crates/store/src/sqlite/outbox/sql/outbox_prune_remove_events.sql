DELETE FROM events
WHERE id = ?1
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = ?1)
