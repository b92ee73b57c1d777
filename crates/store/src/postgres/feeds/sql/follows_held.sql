-- What a new follower may have unread of a feed.
SELECT id, identity, received_at
FROM entries
WHERE feed_id = $1
ORDER BY id
