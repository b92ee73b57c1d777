-- Differs from the other store: from feed to feed, where the other store has one statement (prune_too_many).
-- The newest of a feed's entries that is one too many.
SELECT sort_at, id
FROM entries INDEXED BY entries_of_feed
WHERE feed_id = ?
ORDER BY sort_at DESC, id DESC
LIMIT 1 OFFSET ?
