DELETE FROM pruned_entries
WHERE feed_id = $1 AND NOT identity = ANY($2)
