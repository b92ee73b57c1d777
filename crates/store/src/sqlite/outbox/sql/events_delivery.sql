INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
VALUES (?1, ?2, ?3, ?3)
