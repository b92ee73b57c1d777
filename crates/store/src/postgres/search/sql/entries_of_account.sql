-- Differs from the other store: the other store lists what is found before it walks, and needs not know.
SELECT coalesce(sum((SELECT entry_count FROM feeds WHERE feeds.id = follows.feed_id)), 0)::bigint
FROM follows
WHERE account_id = $1
