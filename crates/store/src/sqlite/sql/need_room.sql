-- Differs from the other store: a full disk of the other store is not this process's.
-- Needs room, and takes none: a table of some pages that is gone before anyone could see it.
CREATE TABLE room (filler);
INSERT INTO room VALUES (zeroblob(65536));
DROP TABLE room
