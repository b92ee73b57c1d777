-- A delivery whose event nobody can read can never be sent.
UPDATE deliveries
SET status = 'failed',
    last_error = 'its event is gone',
    ended_at = ?2,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
