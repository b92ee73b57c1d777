UPDATE feeds
SET unread_count = unread_count + ?2
WHERE id = ?1
