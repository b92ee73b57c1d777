UPDATE feeds
SET is_pushed = ?2
WHERE id = ?1
