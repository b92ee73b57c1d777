-- Which feed has which, and how large that is: the bytes are read for as many as may be handed out.
SELECT follows.feed_id, icons.id, length(icons.bytes)
FROM follows
JOIN feed_icons ON feed_icons.feed_id = follows.feed_id
JOIN icons ON icons.id = feed_icons.icon_id
WHERE follows.account_id = ?1
ORDER BY follows.feed_id
LIMIT ?2
