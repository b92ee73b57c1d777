-- Not what was found just now: whoever found it may not have said yet for which feed.
DELETE FROM icons
WHERE id IN (
    SELECT id
    FROM icons
    WHERE found_at < ?2
      AND NOT EXISTS (SELECT 1 FROM feed_icons WHERE feed_icons.icon_id = icons.id)
    LIMIT ?1
)
