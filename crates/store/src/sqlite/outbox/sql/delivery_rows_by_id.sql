-- Differs from the other store: the other store puts it together from columns that several statements share (ONE).
-- Of a webhook that was removed, or is another's, nothing is shown.
SELECT deliveries.id, event_id, events.type, deliveries.webhook_id, status, attempts, next_attempt_at, lease_owner,
       lease_until, last_status, last_error, reason, deliveries.created_at, ended_at, lease_ms, nonce
FROM deliveries
JOIN events ON events.id = event_id
JOIN webhooks ON webhooks.id = deliveries.webhook_id
WHERE deliveries.id = ?1
  AND webhooks.account_id = ?2
  AND deleted_at IS NULL
