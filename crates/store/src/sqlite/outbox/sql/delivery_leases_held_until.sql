-- When the last of the leases runs out that are held on deliveries to a webhook.
SELECT max(lease_until)
FROM deliveries INDEXED BY deliveries_held
WHERE webhook_id = ?1
  AND lease_owner IS NOT NULL
  AND lease_until <= ?2 + lease_ms + 60000
