-- Differs from the other store: the other store writes this with the state of the feed (feed_rows_state).
UPDATE feeds
SET hubs = ?2,
    topic_url = ?3
WHERE id = ?1
