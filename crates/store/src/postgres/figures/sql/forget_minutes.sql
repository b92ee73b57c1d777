DELETE FROM figures_by_minute
WHERE (account_id, series, minute, backend) IN (
    SELECT account_id, series, minute, backend
    FROM figures_by_minute
    WHERE account_id = $1
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
