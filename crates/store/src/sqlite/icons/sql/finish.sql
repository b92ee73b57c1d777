-- A look that failed leaves the icon that there is.
UPDATE feed_icons
SET icon_id = iif(?5, icon_id, ?2),
    failures = ?3,
    due_at = ?6 + ?4,
    looked_at = ?6
WHERE feed_id = ?1
