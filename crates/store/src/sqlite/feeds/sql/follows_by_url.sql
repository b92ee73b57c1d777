-- Those that an account follows at a URL: the one that all share, its own, or one that was moved there.
SELECT feeds.id
FROM feeds
CROSS JOIN follows ON follows.feed_id = feeds.id AND follows.account_id = ?1
WHERE url_hash IN (?2, ?3, ?4)
ORDER BY feeds.id
