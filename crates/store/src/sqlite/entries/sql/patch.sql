-- Differs from the other store: one by one, where the other store patches many (read_marks_patch).
-- Nothing if it is so already.
UPDATE entries
SET is_read = coalesce(?2, is_read),
    is_starred = coalesce(?3, is_starred),
    modified_at = max(modified_at, ?4)
WHERE id = ?1
  AND (is_read <> coalesce(?2, is_read) OR is_starred <> coalesce(?3, is_starred))
