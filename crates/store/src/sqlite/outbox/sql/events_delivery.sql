-- Differs from the other store: one by one, where the other store has one statement for many (events_insert).
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
VALUES (?1, ?2, ?3, ?3)
