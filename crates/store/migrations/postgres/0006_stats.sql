-- How many of what happened, by minute; after two days by hour; for a year. Written in the transactions that make it happen.
-- Twin of sqlite/0006_stats.sql.
CREATE TABLE figures_by_minute (
    -- 0: the whole server's.
    account_id bigint  NOT NULL,
    -- What is counted: see `Series` in `domain`.
    series     bigint  NOT NULL,
    -- Since 1970.
    minute     bigint  NOT NULL,
    -- The process that serves the connection which wrote it. It has one transaction at a time, so nobody ever waits for a
    -- row that another counts in.
    backend    integer NOT NULL,
    count      bigint  NOT NULL,
    PRIMARY KEY (account_id, series, minute, backend)
    -- Rows are written again and again in their minute: with room beside them that touches no index.
) WITH (fillfactor = 50);

CREATE INDEX figures_by_minute_by_age ON figures_by_minute (minute);

CREATE TABLE figures_by_hour (
    account_id bigint NOT NULL,
    series     bigint NOT NULL,
    -- Since 1970.
    hour       bigint NOT NULL,
    count      bigint NOT NULL,
    PRIMARY KEY (account_id, series, hour)
);

CREATE INDEX figures_by_hour_by_age ON figures_by_hour (hour);
