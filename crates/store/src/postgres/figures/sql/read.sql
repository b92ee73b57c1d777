-- An hour is what is kept of it, and the minutes of it that are not gathered yet.
SELECT minute / $3::bigint * $3, series, sum(count)::bigint
FROM figures_by_minute
WHERE account_id = $1
  AND series = ANY($2::bigint[])
  AND minute >= $4
  AND minute < $5
GROUP BY 1, 2
UNION ALL
SELECT hour * 60, series, count
FROM figures_by_hour
WHERE account_id = $1
  AND series = ANY($2)
  AND hour >= $6
  AND hour < $7
