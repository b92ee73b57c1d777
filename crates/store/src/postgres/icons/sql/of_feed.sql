SELECT icons.id, icons.mime, icons.bytes
FROM follows
JOIN feed_icons ON feed_icons.feed_id = follows.feed_id
JOIN icons ON icons.id = feed_icons.icon_id
WHERE follows.feed_id = $2
  AND follows.account_id = $1
