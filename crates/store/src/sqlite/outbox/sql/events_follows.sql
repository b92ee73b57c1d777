-- Which of some accounts, given as a JSON array, follow a feed, and in which folders.
SELECT account_id, folder_id
FROM follows
WHERE feed_id = ?1
  AND account_id IN (SELECT value FROM json_each(?2))
