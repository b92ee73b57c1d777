UPDATE feeds
SET hubs = ?2,
    topic_url = ?3
WHERE id = ?1
