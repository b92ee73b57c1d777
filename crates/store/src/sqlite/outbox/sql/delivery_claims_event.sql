-- Differs from the other store: the other store reads events in the statement that claims (CLAIM in delivery_claims.rs).
-- An event, and what the account of a webhook (3) has of its feed and its entry.
SELECT type, events.created_at, size, iif(size <= ?2, data, NULL), feed, custom_title, follows.folder_id, is_read, is_starred,
       nonce
FROM events
LEFT JOIN webhooks ON webhooks.id = ?3
LEFT JOIN follows ON follows.feed_id = events.feed_id AND follows.account_id = webhooks.account_id
LEFT JOIN entry_states ON entry_states.entry_id = events.entry_id AND entry_states.account_id = webhooks.account_id
WHERE events.id = ?1
