-- Not what was found just now: whoever found it may not have said yet for which feed. What is found again while it is
-- removed is locked, and looked at once more then.
DELETE FROM icons
WHERE found_at < (SELECT pirssonite_now_ms() - $2)
  AND id IN (
      SELECT id
      FROM icons
      WHERE found_at < (SELECT pirssonite_now_ms() - $2)
        AND NOT EXISTS (SELECT 1 FROM feed_icons WHERE feed_icons.icon_id = icons.id)
      LIMIT $1
  )
