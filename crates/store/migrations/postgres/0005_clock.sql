-- A clock that was set back. Twin of sqlite/0005_clock.sql.

-- The latest time that was seen: what the clock says now is later, unless it was set back.
ALTER TABLE installation ADD COLUMN clock_ms bigint NOT NULL DEFAULT 0;
