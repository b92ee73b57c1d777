DELETE FROM figures_by_hour
WHERE (account_id, series, hour) IN (
    SELECT account_id, series, hour
    FROM figures_by_hour
    WHERE hour < ?1
    ORDER BY hour
    LIMIT ?2
)
