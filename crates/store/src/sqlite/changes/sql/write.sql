INSERT INTO changes (number, kind, feed_id, count, entry_ids, at, account_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
