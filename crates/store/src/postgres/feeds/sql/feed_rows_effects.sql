-- Differs from the other store: many feeds at once, and all that may change, where the other store has a statement for each
-- (feed_rows_pushed, feed_rows_count, feed_rows_poll_soon).
-- A feed that is being polled just now is polled once more: what that brings may be older than the request. One that is
-- gone is not woken.
UPDATE feeds
SET is_pushed = coalesce(given.is_pushed, feeds.is_pushed),
    entry_count = entry_count + given.new_entries,
    poll_wanted_at = CASE WHEN given.poll_in IS NULL OR is_gone THEN poll_wanted_at ELSE $1 END,
    next_check_at = CASE
        WHEN given.poll_in IS NULL OR is_gone THEN next_check_at
        WHEN lease_until > $1 THEN $1 + given.poll_in
        ELSE least(next_check_at, $1 + given.poll_in)
    END
FROM unnest($2::bigint[], $3::boolean[], $4::bigint[], $5::bigint[]) AS given (id, is_pushed, new_entries, poll_in)
WHERE feeds.id = given.id
