-- Differs from the other store, where one statement moves them (gather).
SELECT account_id, series, minute, count
FROM figures_by_minute
WHERE minute < ?1
ORDER BY minute
LIMIT ?2
