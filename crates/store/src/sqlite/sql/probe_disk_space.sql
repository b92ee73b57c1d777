-- Differs from the other store: a full disk of the other store is not this process's.
-- Needs disk space, and keeps none: a table of some pages that is gone before anyone could see it.
-- 65536 bytes are the largest page there is.
CREATE TABLE disk_probe (filler);
INSERT INTO disk_probe VALUES (zeroblob(65536));
DROP TABLE disk_probe
