-- Differs from the other store: a constant there, and a count that is made in Rust.
WITH again AS (
    UPDATE entries
    SET is_kept = false
    WHERE feed_id = $1
      AND is_kept
    RETURNING id
)
UPDATE feeds
SET entry_count = entry_count + again.count
FROM (SELECT count(*) AS count FROM again) AS again
WHERE feeds.id = $1
  AND again.count > 0
