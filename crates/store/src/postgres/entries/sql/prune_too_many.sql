-- Differs from the other store: one statement, where the other store goes from feed to feed (prune_first_beyond, prune_beyond).
-- Only feeds with more than that many entries are looked at, and of them what lies beyond.
SELECT beyond.entry_id, beyond.account_id, feeds.id
FROM feeds
CROSS JOIN LATERAL (
    SELECT sort_at, id
    FROM entries
    WHERE feed_id = feeds.id
    ORDER BY sort_at DESC, id DESC
    OFFSET $1
    LIMIT 1
) AS first_beyond
CROSS JOIN LATERAL (
    SELECT entry_id, account_id
    FROM entry_states
    WHERE feed_id = feeds.id
      AND (sort_at, entry_id) <= (first_beyond.sort_at, first_beyond.id)
      AND is_read
      AND NOT is_starred
    ORDER BY sort_at DESC, entry_id DESC
    LIMIT $2
) AS beyond
WHERE feeds.entry_count > $1
LIMIT $2
