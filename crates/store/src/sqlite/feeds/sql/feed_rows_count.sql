-- Differs from the other store: the other store has one statement for all that may change (feed_rows_effects).
UPDATE feeds
SET entry_count = entry_count + ?2
WHERE id = ?1
