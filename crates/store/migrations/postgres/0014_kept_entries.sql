-- Entries that nobody has any more stay as long as the last document of their feed holds them: whoever begins to follow it
-- finds them. No count has them. Twin of sqlite/0014_kept_entries.sql.

ALTER TABLE entries ADD COLUMN is_kept boolean NOT NULL DEFAULT false;
CREATE INDEX entries_kept ON entries (feed_id) WHERE is_kept;
