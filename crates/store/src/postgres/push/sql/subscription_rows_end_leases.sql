-- Differs from the other store: many at once, where the other store releases one by one (subscription_claims_release).
UPDATE subscriptions
SET lease_owner = NULL,
    lease_until = 0
WHERE id = ANY($1)
