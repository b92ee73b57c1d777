-- Differs from the other store: one by one, where the other store writes marks and log of many in one statement (MARK).
INSERT INTO attempts (delivery_id, place, number, at, duration_ms, status, answer, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
