-- What was changed, for whoever follows it: pages, and those who deliver. Pruned after an hour.
CREATE TABLE changes (
    number     INTEGER PRIMARY KEY,
    -- NULL for all who follow the feed, or for everybody.
    account_id INTEGER,
    kind       TEXT    NOT NULL,
    feed_id    INTEGER,
    count      INTEGER NOT NULL,
    -- A JSON array; empty if they are too many.
    entry_ids  TEXT    NOT NULL,
    at         INTEGER NOT NULL
);

-- The last change that was pruned: numbers are never given twice.
CREATE TABLE change_floor (
    number INTEGER NOT NULL
);
INSERT INTO change_floor (number) VALUES (0);
