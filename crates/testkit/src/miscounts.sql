-- Every count that is kept, beside what counting gives, and every follower's row of every entry, where the two disagree: one
-- line each. It is one statement, so that it sees one moment, and the same on both stores. Nothing may have been pruned.
SELECT 'feed ' || f.id || ': entry_count is ' || f.entry_count || ', counted ' || c.counted AS miscount
FROM feeds f
JOIN (SELECT f.id, count(e.id) AS counted FROM feeds f LEFT JOIN entries e ON e.feed_id = f.id AND NOT e.is_kept GROUP BY f.id) c ON c.id = f.id
WHERE f.entry_count <> c.counted
UNION ALL
SELECT 'account ' || f.account_id || ', feed ' || f.feed_id || ': unread_count is ' || f.unread_count
    || ', counted ' || c.counted
FROM follows f
JOIN (
    SELECT f.feed_id, f.account_id, count(s.entry_id) AS counted
    FROM follows f
    LEFT JOIN entry_states s ON s.feed_id = f.feed_id AND s.account_id = f.account_id AND NOT s.is_read
    GROUP BY f.feed_id, f.account_id
) c ON c.feed_id = f.feed_id AND c.account_id = f.account_id
WHERE f.unread_count <> c.counted
UNION ALL
SELECT 'account ' || a.id || ': starred_count is ' || a.starred_count || ', counted ' || c.counted
FROM accounts a
JOIN (
    SELECT a.id, count(s.entry_id) AS counted
    FROM accounts a
    LEFT JOIN entry_states s ON s.account_id = a.id AND s.is_starred
    GROUP BY a.id
) c ON c.id = a.id
WHERE a.deleted_at IS NULL AND a.starred_count <> c.counted
UNION ALL
SELECT 'account ' || f.account_id || ' lacks entry ' || e.id || ' of feed ' || e.feed_id
FROM follows f
JOIN entries e ON e.feed_id = f.feed_id
LEFT JOIN entry_states s ON s.entry_id = e.id AND s.account_id = f.account_id
WHERE s.entry_id IS NULL
UNION ALL
SELECT 'account ' || s.account_id || ' has entry ' || s.entry_id || ' of feed ' || s.feed_id || ', which it does not follow'
FROM entry_states s
LEFT JOIN follows f ON f.feed_id = s.feed_id AND f.account_id = s.account_id
WHERE f.feed_id IS NULL
UNION ALL
SELECT 'account ' || s.account_id || ' has entry ' || s.entry_id || ' in another place than it is'
FROM entry_states s
JOIN entries e ON e.id = s.entry_id
JOIN follows f ON f.feed_id = s.feed_id AND f.account_id = s.account_id
WHERE s.feed_id <> e.feed_id OR s.sort_at <> e.sort_at OR s.folder_id IS DISTINCT FROM f.folder_id
LIMIT 20
