INSERT INTO changes (number, kind, feed_id, count, entry_ids, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
