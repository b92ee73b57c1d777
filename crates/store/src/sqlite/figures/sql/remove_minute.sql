-- Differs from the other store, where one statement moves them (gather).
DELETE FROM figures_by_minute
WHERE account_id = ?1
  AND series = ?2
  AND minute = ?3
