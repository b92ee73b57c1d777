DELETE FROM attempts
WHERE delivery_id = ?
  AND place <= ?
