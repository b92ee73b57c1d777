UPDATE feeds
SET unread_count = unread_count + ?2,
    entry_count = entry_count + ?2
WHERE id = ?1
