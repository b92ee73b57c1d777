-- Differs from the other store: one by one, where the other has one statement for many (entry_events_updates_sent).
UPDATE entries
SET update_sent_at = ?2
WHERE id = ?1
  AND update_sent_at <= ?2 - ?3
