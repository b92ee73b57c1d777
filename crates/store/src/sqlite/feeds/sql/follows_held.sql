-- What a new follower may have unread of a feed.
SELECT id, identity, received_at
FROM entries INDEXED BY entries_of_feed
WHERE feed_id = ?
