-- What was changed, for whoever follows it: pages, other nodes, and those who deliver. Pruned after an hour.
CREATE TABLE changes (
    number     bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- NULL for all who follow the feed, or for everybody.
    account_id bigint,
    kind       text     NOT NULL,
    feed_id    bigint,
    count      bigint   NOT NULL,
    -- Empty if they are too many.
    entry_ids  bigint[] NOT NULL,
    at         bigint   NOT NULL
);

-- From now on its last value is a number that was given: see `write.sql`.
SELECT setval('changes_number_seq', 1);

-- The last change that was pruned.
CREATE TABLE change_floor (
    number bigint NOT NULL
);
INSERT INTO change_floor (number) VALUES (0);
