-- A clock that was set back. Twin of postgres/0005_clock.sql.

-- The latest time that was seen: what the clock says now is later, unless it was set back.
ALTER TABLE installation ADD COLUMN clock_ms INTEGER NOT NULL DEFAULT 0;
