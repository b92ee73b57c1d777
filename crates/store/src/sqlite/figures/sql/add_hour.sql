-- Differs from the other store, where one statement moves them (gather).
INSERT INTO figures_by_hour (account_id, series, hour, count)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (account_id, series, hour) DO UPDATE
SET count = count + excluded.count
