-- One by one, where the other store has one statement for many.
UPDATE entries
SET update_sent_at = ?2
WHERE id = ?1
  AND update_sent_at <= ?2 - ?3
