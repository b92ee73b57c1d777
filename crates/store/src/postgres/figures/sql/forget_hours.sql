DELETE FROM figures_by_hour
WHERE (account_id, series, hour) IN (
    SELECT account_id, series, hour
    FROM figures_by_hour
    WHERE account_id = $1
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
