-- Many at once, where the other store writes one by one.
-- What is known only here of entries that have changed. Those whose last update was sent lately are left out.
UPDATE entries
SET update_sent_at = $2
WHERE id = ANY($1)
  AND (update_sent_at = 0 OR update_sent_at <= $3)
RETURNING id, sort_at, guid
