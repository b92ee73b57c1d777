-- How many of what happened, by minute; after two days by hour; for a year. Written in the transactions that make it happen.
-- Twin of postgres/0006_stats.sql.
CREATE TABLE figures_by_minute (
    -- 0: the whole server's.
    account_id INTEGER NOT NULL,
    -- What is counted: see `Series` in `domain`.
    series     INTEGER NOT NULL,
    -- Since 1970.
    minute     INTEGER NOT NULL,
    count      INTEGER NOT NULL,
    PRIMARY KEY (account_id, series, minute)
) WITHOUT ROWID;

CREATE INDEX figures_by_minute_by_age ON figures_by_minute (minute);

CREATE TABLE figures_by_hour (
    account_id INTEGER NOT NULL,
    series     INTEGER NOT NULL,
    -- Since 1970.
    hour       INTEGER NOT NULL,
    count      INTEGER NOT NULL,
    PRIMARY KEY (account_id, series, hour)
) WITHOUT ROWID;

CREATE INDEX figures_by_hour_by_age ON figures_by_hour (hour);
