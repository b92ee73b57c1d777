-- Entries by the time of their receipt and of their last change, and unread ones that are pruned. Twin of
-- sqlite/0006_entry_walks.sql.

-- When anything that is shown of it last changed: what it says, or whether it is read or starred. `changed_at` is about
-- what it says alone.
ALTER TABLE entries ADD COLUMN modified_at bigint NOT NULL DEFAULT 0;
DROP INDEX entries_prunable;
UPDATE entries SET modified_at = changed_at;

-- One walk for each, either way round.
CREATE INDEX entries_received ON entries (received_at, id);
CREATE INDEX entries_modified ON entries (modified_at, id);

-- What may be pruned, oldest first: unread ones and read ones each have their own age.
CREATE INDEX entries_prunable ON entries (is_read, received_at) WHERE NOT is_starred;
