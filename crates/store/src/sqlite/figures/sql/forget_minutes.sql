DELETE FROM figures_by_minute
WHERE (account_id, series, minute) IN (
    SELECT account_id, series, minute
    FROM figures_by_minute
    WHERE account_id = ?1
    LIMIT ?2
)
