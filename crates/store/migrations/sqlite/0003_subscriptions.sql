-- Push: subscriptions. Twin of postgres/0003_subscriptions.sql.

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
    -- How long the lease is that was last taken. One that ends over a minute later than this from now was taken before a
    -- clock went back, and counts no more.
    lease_ms      INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL
);

CREATE UNIQUE INDEX subscriptions_current ON subscriptions (feed_id) WHERE is_current = 1;
CREATE INDEX subscriptions_of_feed ON subscriptions (feed_id);
CREATE INDEX subscriptions_by_topic ON subscriptions (topic_hash);
-- Finding due steps walks this from its start and stops at the first that is not due.
CREATE INDEX subscriptions_due ON subscriptions (next_step_at, id) WHERE next_step_at IS NOT NULL;
CREATE INDEX subscriptions_expiring ON subscriptions (expires_at, id) WHERE state = 'active';
-- Finding due steps of other hubs than those that are busy goes from hub to hub, and does not walk what is due at those.
CREATE INDEX subscriptions_due_by_hub ON subscriptions (hub_url, next_step_at, id) WHERE next_step_at IS NOT NULL;
-- What is counted for `/metrics`, without walking the table.
CREATE INDEX subscriptions_by_state ON subscriptions (state);
