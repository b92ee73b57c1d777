-- Differs from the other store: the other store counts in the statement that removes (prune_remove).
UPDATE feeds
SET entry_count = entry_count - ?2
WHERE id = ?1
