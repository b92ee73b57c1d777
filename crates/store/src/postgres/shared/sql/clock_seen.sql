-- Differs from the other store: the other store has one writer and locks nothing.
-- Of several nodes that see it one moves the times. Rows are locked in no order: if that ends in a deadlock,
-- the next look does it.
WITH held AS MATERIALIZED (SELECT clock_ms FROM installation FOR NO KEY UPDATE)
SELECT clock_ms, pirssonite_now_ms()
FROM held
