SELECT icons.id, icons.mime, icons.bytes
FROM icons
WHERE icons.id = ?2
  AND EXISTS (
      SELECT 1
      FROM feed_icons
      JOIN follows ON follows.feed_id = feed_icons.feed_id
      WHERE feed_icons.icon_id = icons.id
        AND follows.account_id = ?1
  )
