-- Looked at once more, now that they are held.
DELETE FROM events
WHERE id = ANY($1)
  AND (SELECT id FROM deliveries WHERE event_id = events.id LIMIT 1) IS NULL
