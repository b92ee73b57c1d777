INSERT INTO attempts (delivery_id, place, number, at, duration_ms, status, answer, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
