-- Differs from the other store: the other store writes whole rows of a batch (subscription_rows_update).
-- All that a push changes: no index is touched.
UPDATE subscriptions
SET last_push_at = ?2,
    push_count = ?3,
    misses_in_row = ?4,
    secrets = coalesce(?5, secrets)
WHERE id = ?1
