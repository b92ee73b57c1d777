UPDATE feeds
SET entry_count = entry_count - ?2,
    unread_count = unread_count - ?3
WHERE id = ?1
