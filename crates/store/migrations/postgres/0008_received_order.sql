-- Entries in the order of their receipt, as the apps of other readers ask for them: one walk for each kind of stream.
-- Twin of sqlite/0008_received_order.sql.

CREATE INDEX states_received_of_folder ON entry_states (account_id, folder_id, received_at, entry_id)
    WHERE folder_id IS NOT NULL;
CREATE INDEX states_unread_received ON entry_states (account_id, received_at, entry_id) WHERE NOT is_read;
CREATE INDEX states_unread_received_of_feed ON entry_states (account_id, feed_id, received_at, entry_id) WHERE NOT is_read;
CREATE INDEX states_unread_received_of_folder ON entry_states (account_id, folder_id, received_at, entry_id)
    WHERE NOT is_read AND folder_id IS NOT NULL;
CREATE INDEX states_starred_received ON entry_states (account_id, received_at, entry_id) WHERE is_starred;
-- Of one feed the order of receipt is that of the ids, whoever follows it: no account needs an index of its own.
CREATE INDEX entries_received ON entries (feed_id, id);
