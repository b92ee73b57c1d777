UPDATE subscriptions
SET lease_owner = NULL,
    lease_until = 0
WHERE id = ANY($1)
