-- Push: subscriptions, and what feeds and entries have to do with them. Twin of postgres/0002_subscriptions.sql.

-- What its last document said: the hubs as a JSON array, and the topic if it names one.
ALTER TABLE feeds ADD COLUMN hubs TEXT NOT NULL DEFAULT '[]';
ALTER TABLE feeds ADD COLUMN topic_url TEXT;
-- A hub is trusted to push it: it is polled only to check on that.
ALTER TABLE feeds ADD COLUMN is_pushed INTEGER NOT NULL DEFAULT 0;
-- When somebody wanted it to be polled soon, since it was last claimed: the poll that is under way then does not put
-- it off. 0 if nobody did.
ALTER TABLE feeds ADD COLUMN poll_wanted_at INTEGER NOT NULL DEFAULT 0;

-- Pushed with neither summary nor content.
ALTER TABLE entries ADD COLUMN is_thin INTEGER NOT NULL DEFAULT 0;

CREATE TABLE subscriptions (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    -- A subscription outlives its feed until the hub has let it go.
    feed_id       INTEGER REFERENCES feeds (id) ON DELETE SET NULL,
    hub_url       TEXT    NOT NULL,
    topic_url     TEXT    NOT NULL,
    -- A hash, because PostgreSQL indexes no value as long as a URL may be.
    topic_hash    BLOB    NOT NULL,
    token         TEXT    NOT NULL UNIQUE,
    base_url      TEXT    NOT NULL,
    -- pending, active, inactive, unsubscribing
    state         TEXT    NOT NULL,
    is_current    INTEGER NOT NULL,
    lease_secs    INTEGER,
    expires_at    INTEGER,
    activated_at  INTEGER,
    verified_at   INTEGER,
    -- subscribe, unsubscribe, or nothing
    asked         TEXT,
    verify_by     INTEGER,
    error_count   INTEGER NOT NULL DEFAULT 0,
    last_error    TEXT,
    last_push_at  INTEGER,
    push_count    INTEGER NOT NULL DEFAULT 0,
    miss_count    INTEGER NOT NULL DEFAULT 0,
    misses_in_row INTEGER NOT NULL DEFAULT 0,
    -- JSON: what the hub may sign with.
    secrets       TEXT    NOT NULL DEFAULT '[]',
    next_step_at  INTEGER,
    retry_at      INTEGER,
    -- The lease of whoever takes that step. The fence rises with every claim and is never reset.
    lease_owner   TEXT,
    lease_until   INTEGER NOT NULL DEFAULT 0,
    lease_fence   INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL
);

CREATE UNIQUE INDEX subscriptions_current ON subscriptions (feed_id) WHERE is_current = 1;
CREATE INDEX subscriptions_of_feed ON subscriptions (feed_id);
CREATE INDEX subscriptions_by_topic ON subscriptions (topic_hash);
-- Finding due steps walks this from its start and stops at the first that is not due.
CREATE INDEX subscriptions_due ON subscriptions (next_step_at, id) WHERE next_step_at IS NOT NULL;
CREATE INDEX subscriptions_expiring ON subscriptions (expires_at, id) WHERE state = 'active';
