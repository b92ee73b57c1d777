-- A test is the next probe if the breaker is open. Where it is not, nothing is written and nobody waited for.
UPDATE webhooks
SET probe_new_at = $2
WHERE id = $1
  AND probe_at IS NOT NULL
