INSERT INTO figures_by_minute (account_id, series, minute, count)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (account_id, series, minute) DO UPDATE
SET count = count + excluded.count
