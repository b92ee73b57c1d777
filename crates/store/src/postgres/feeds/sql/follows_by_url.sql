-- Those that an account follows at a URL: the one that all share, its own, or one that was moved there.
SELECT feeds.id, feeds.url_hash
FROM feeds
JOIN follows ON follows.feed_id = feeds.id AND follows.account_id = $1
WHERE url_hash = ANY($2)
ORDER BY feeds.id
