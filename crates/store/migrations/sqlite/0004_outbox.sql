-- Webhooks, and the outbox through which they are told what happened. Twin of postgres/0004_outbox.sql.

-- One row. The key makes ids of events and deliveries unlike those of any other installation.
CREATE TABLE installation (
    key      TEXT    NOT NULL,
    -- The latest time that was seen: what the clock says now is later, unless it was set back.
    clock_ms INTEGER NOT NULL DEFAULT 0
);
INSERT INTO installation (key) VALUES (lower(hex(randomblob(6))));

CREATE TABLE webhooks (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id      INTEGER NOT NULL,
    url             TEXT    NOT NULL,
    description     TEXT,
    enabled         INTEGER NOT NULL,
    -- JSON arrays; NULL for all.
    event_types     TEXT,
    feed_ids        TEXT,
    folder_ids      TEXT,
    -- A JSON array of names and values.
    headers         TEXT    NOT NULL DEFAULT '[]',
    include_content INTEGER NOT NULL,
    backlog         INTEGER NOT NULL,
    secret          TEXT    NOT NULL,
    -- A JSON array of those that sign along, the newest first, each with the time until which it does.
    old_secrets     TEXT    NOT NULL DEFAULT '[]',
    -- How its receiver stands.
    failures        INTEGER NOT NULL DEFAULT 0,
    failing_since   INTEGER,
    -- When something last failed.
    failed_at       INTEGER,
    -- The breaker is open while probe_at is there: when a row that was tried before may be probed next, when one that was
    -- never tried, and how many of the former have failed.
    probe_at        INTEGER,
    probe_new_at    INTEGER,
    probes          INTEGER NOT NULL DEFAULT 0,
    -- Until then its receiver asked to be sent nothing.
    held_until      INTEGER,
    -- Requests a second at most, in thousandths; and the time up to which they are taken, with parts of a millisecond.
    rate_per_second INTEGER,
    rate_at         REAL    NOT NULL DEFAULT 0,
    disabled_reason TEXT,
    created_at      INTEGER NOT NULL,
    -- Gone for everybody; the row stays until its deliveries are removed.
    deleted_at      INTEGER
);

CREATE INDEX webhooks_of_account ON webhooks (account_id, id);

CREATE TABLE events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    type       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- What decided who is told. These outlive what they name.
    feed_id    INTEGER,
    account_id INTEGER,
    webhook_id INTEGER,
    entry_id   INTEGER,
    is_backlog INTEGER NOT NULL,
    -- The feed that it is about, as JSON, as the server has it.
    feed       TEXT,
    -- What else it is about, as JSON: stored once, however many receive it. Its bytes are counted before it is read.
    size       INTEGER NOT NULL,
    data       TEXT    NOT NULL
);

CREATE INDEX events_by_time ON events (created_at, id);

CREATE TABLE deliveries (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    -- An event is removed only after its deliveries, a webhook after its own: no key is needed to say so.
    event_id        INTEGER NOT NULL,
    webhook_id      INTEGER NOT NULL,
    -- pending, delivered, failed, cancelled
    status          TEXT    NOT NULL DEFAULT 'pending',
    attempts        INTEGER NOT NULL DEFAULT 0,
    -- Attempts ever, by which their log is ordered.
    logged          INTEGER NOT NULL DEFAULT 0,
    -- A request was made for it.
    is_tried        INTEGER NOT NULL DEFAULT 0,
    next_attempt_at INTEGER NOT NULL,
    last_status     INTEGER,
    last_error      TEXT,
    reason          TEXT,
    created_at      INTEGER NOT NULL,
    -- When it was delivered, failed or cancelled.
    ended_at        INTEGER,
    -- The lease of whoever sends it. The fence rises with every claim and is never reset.
    lease_owner     TEXT,
    lease_until     INTEGER NOT NULL DEFAULT 0,
    lease_fence     INTEGER NOT NULL DEFAULT 0,
    -- How long the lease is that was last taken. One that ends over a minute later than this from now was taken before a
    -- clock went back, and counts no more.
    lease_ms        INTEGER NOT NULL DEFAULT 0
);

CREATE UNIQUE INDEX deliveries_of_event ON deliveries (event_id, webhook_id);
-- Finding due deliveries walks this from the start of each of a webhook's two lines, those that were never tried and those
-- that were, and stops at the first that is not due.
CREATE INDEX deliveries_due ON deliveries (webhook_id, is_tried, next_attempt_at, id) WHERE status = 'pending';
-- The few that somebody has claimed.
CREATE INDEX deliveries_held ON deliveries (webhook_id) WHERE lease_owner IS NOT NULL;
-- Pages, counts and what is to be pruned, webhook by webhook.
CREATE INDEX deliveries_by_status ON deliveries (webhook_id, status, id);

CREATE TABLE attempts (
    delivery_id INTEGER NOT NULL,
    -- Its place in the log of its delivery.
    place       INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    status      INTEGER,
    answer      TEXT,
    error       TEXT,
    PRIMARY KEY (delivery_id, place)
) WITHOUT ROWID;
