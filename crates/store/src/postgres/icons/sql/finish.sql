-- A look that failed leaves the icon that there is.
UPDATE feed_icons
SET icon_id = CASE WHEN $5 THEN icon_id ELSE $2 END,
    failures = $3,
    due_at = now.ms + $4,
    looked_at = now.ms
FROM (SELECT pirssonite_now_ms() AS ms) AS now
WHERE feed_id = $1
