-- Differs from the other store: the other store counts in the statement that marks (read_marks_mark, read_marks_patch).
UPDATE feeds
SET unread_count = unread_count + ?2
WHERE id = ?1
