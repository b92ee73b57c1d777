-- Differs from the other store: one by one, where the other store has one statement for many (events_insert).
INSERT INTO events (type, created_at, feed_id, account_id, webhook_id, entry_id, is_backlog, feed, size, data, nonce)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, random() & 0xffffffffffff)
