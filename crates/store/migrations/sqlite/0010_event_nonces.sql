-- What makes the id of an event its own for good. Twin of postgres/0010_event_nonces.sql.
--
-- Numbers are given out again by a database that has forgotten some: one that was restored from a backup. Chance is not.
-- Events that were there before keep the ids that their receivers know. Whoever inserts one gives it a nonce of 48 bits.
ALTER TABLE events ADD COLUMN nonce INTEGER NOT NULL DEFAULT 0;
