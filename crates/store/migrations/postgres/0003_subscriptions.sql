-- Push: subscriptions. Twin of sqlite/0003_subscriptions.sql.
--
-- Whoever changes a subscription of a feed holds the lock of the feed's row first, then that of the subscription's.

CREATE TABLE subscriptions (
    id            bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- A subscription outlives its feed until the hub has let it go.
    feed_id       bigint  REFERENCES feeds (id) ON DELETE SET NULL,
    hub_url       text    NOT NULL,
    topic_url     text    NOT NULL,
    -- A hash, because no value as long as a URL may be fits into an index.
    topic_hash    bytea   NOT NULL,
    token         text    NOT NULL UNIQUE,
    base_url      text    NOT NULL,
    -- pending, active, inactive, unsubscribing
    state         text    NOT NULL,
    is_current    boolean NOT NULL,
    lease_secs    bigint,
    expires_at    bigint,
    activated_at  bigint,
    verified_at   bigint,
    -- subscribe, unsubscribe, or nothing
    asked         text,
    verify_by     bigint,
    error_count   bigint  NOT NULL DEFAULT 0,
    last_error    text,
    last_push_at  bigint,
    push_count    bigint  NOT NULL DEFAULT 0,
    miss_count    bigint  NOT NULL DEFAULT 0,
    misses_in_row bigint  NOT NULL DEFAULT 0,
    -- JSON: what the hub may sign with.
    secrets       text    NOT NULL DEFAULT '[]',
    next_step_at  bigint,
    retry_at      bigint,
    -- The lease of whoever takes that step. The fence rises with every claim and is never reset.
    lease_owner   text,
    lease_until   bigint  NOT NULL DEFAULT 0,
    lease_fence   bigint  NOT NULL DEFAULT 0,
    -- How long the lease is that was last taken. One that ends over a minute later than this from now was taken before a
    -- clock went back, and counts no more.
    lease_ms      bigint  NOT NULL DEFAULT 0,
    created_at    bigint  NOT NULL
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 500,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

CREATE UNIQUE INDEX subscriptions_current ON subscriptions (feed_id) WHERE is_current;
CREATE INDEX subscriptions_of_feed ON subscriptions (feed_id);
CREATE INDEX subscriptions_by_topic ON subscriptions (topic_hash);
-- Finding due steps walks this from its start and stops at the first that is not due.
CREATE INDEX subscriptions_due ON subscriptions (next_step_at, id) WHERE next_step_at IS NOT NULL;
CREATE INDEX subscriptions_expiring ON subscriptions (expires_at, id) WHERE state = 'active';
-- Finding due steps of other hubs than those that are busy goes from hub to hub, and does not walk what is due at those.
-- A hash, because no value as long as a URL may be fits into an index here.
CREATE INDEX subscriptions_due_by_hub ON subscriptions (md5(hub_url), next_step_at, id) WHERE next_step_at IS NOT NULL;
-- What is counted for `/metrics`, without walking the table.
CREATE INDEX subscriptions_by_state ON subscriptions (state);
