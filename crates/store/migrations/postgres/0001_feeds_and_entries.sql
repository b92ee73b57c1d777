-- Folders, feeds, entries, and what is remembered of entries that were pruned.
-- Times are milliseconds since 1970, UTC. Twin of sqlite/0001_feeds_and_entries.sql.
--
-- Whoever changes the entries of a feed holds the lock of the feed's row: so counts are exact, and since rows of feeds
-- are locked in the order of their ids, nobody waits in a circle.

-- The one clock of all nodes. Every time in every statement comes from here; tests replace it.
-- It is asked once in a statement, in a subquery: as part of a condition no index would serve it.
CREATE FUNCTION pirssonite_now_ms() RETURNS bigint
    LANGUAGE sql
    VOLATILE
    AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE folders (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name     text   NOT NULL UNIQUE,
    position bigint NOT NULL
);

-- Rows are rewritten at every claim and every beat: room on the page, and no index on the lease, keep that within the
-- page.
CREATE TABLE feeds (
    id                 bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url                text    NOT NULL,
    -- A hash, because no value as long as a URL may be fits into an index.
    url_hash           bytea   NOT NULL UNIQUE,
    credentials        text,
    site_url           text,
    title              text,
    custom_title       text,
    folder_id          bigint  REFERENCES folders (id) ON DELETE SET NULL,
    push_enabled       boolean NOT NULL DEFAULT true,
    poll_interval_secs bigint,
    -- What the next poll asks with. Written together with the entries it belongs to.
    etag               text,
    last_modified      text,
    body_hash          bytea,
    last_fetched_at    bigint,
    next_check_at      bigint  NOT NULL,
    adaptive_secs      bigint  NOT NULL,
    -- What its last document asked of those who poll it.
    ttl_mins           bigint,
    skip_hours         bigint NOT NULL DEFAULT 0,
    skip_days          bigint NOT NULL DEFAULT 0,
    failure_count      bigint  NOT NULL DEFAULT 0,
    last_error         text,
    is_gone            boolean NOT NULL DEFAULT false,
    -- Kept in the transactions that change them, so that nobody ever counts entries.
    unread_count       bigint  NOT NULL DEFAULT 0,
    entry_count        bigint  NOT NULL DEFAULT 0,
    -- The lease of whoever polls it. The fence rises with every claim and is never reset.
    lease_owner        text,
    lease_until        bigint  NOT NULL DEFAULT 0,
    lease_fence        bigint  NOT NULL DEFAULT 0,
    created_at         bigint  NOT NULL
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 500,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

-- Finding due feeds walks this from its start and stops at the first that is not due.
CREATE INDEX feeds_due ON feeds (next_check_at, id) WHERE NOT is_gone;
CREATE INDEX feeds_by_folder ON feeds (folder_id);

CREATE TABLE entries (
    id           bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    feed_id      bigint  NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    -- The feed's folder, kept here too so that a page of a folder is one walk of an index.
    folder_id    bigint,
    -- Hashes of what it is known by, of what tells it from others of that identity, and of what a reader sees of it.
    identity     bytea   NOT NULL,
    link_trait   bigint  NOT NULL DEFAULT 0,
    title_trait  bigint  NOT NULL DEFAULT 0,
    fingerprint  bytea   NOT NULL,
    guid         text    NOT NULL,
    url          text,
    title        text,
    author       text,
    published_at bigint,
    updated_at   bigint,
    sort_at      bigint  NOT NULL,
    received_at  bigint  NOT NULL,
    -- When its content was last written: a poll that was claimed before that does not undo it.
    changed_at   bigint  NOT NULL,
    is_read      boolean NOT NULL DEFAULT false,
    is_starred   boolean NOT NULL DEFAULT false,
    categories   text    NOT NULL DEFAULT '[]',
    enclosures   text    NOT NULL DEFAULT '[]'
) WITH (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05
);

-- Several entries may have one identity: which is which, is decided by domain::ingest::recognise.
CREATE INDEX entries_by_identity ON entries (feed_id, identity);
-- One walk for each kind of page, newest first.
CREATE INDEX entries_newest ON entries (sort_at DESC, id DESC);
CREATE INDEX entries_of_feed ON entries (feed_id, sort_at DESC, id DESC);
CREATE INDEX entries_of_folder ON entries (folder_id, sort_at DESC, id DESC);
CREATE INDEX entries_unread ON entries (sort_at DESC, id DESC) WHERE NOT is_read;
CREATE INDEX entries_unread_of_feed ON entries (feed_id, sort_at DESC, id DESC) WHERE NOT is_read;
CREATE INDEX entries_unread_of_folder ON entries (folder_id, sort_at DESC, id DESC) WHERE NOT is_read;
CREATE INDEX entries_starred ON entries (sort_at DESC, id DESC) WHERE is_starred;
-- What may be pruned, oldest first.
CREATE INDEX entries_prunable ON entries (received_at) WHERE is_read AND NOT is_starred;

-- The long texts, apart, so that marking an entry as read does not write them again.
CREATE TABLE entry_bodies (
    entry_id bigint PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
    summary  text,
    content  text
);

-- What pruned entries are recognised by, until a complete poll no longer holds them.
CREATE TABLE pruned_entries (
    feed_id     bigint NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    identity    bytea  NOT NULL,
    link_trait  bigint NOT NULL DEFAULT 0,
    title_trait bigint NOT NULL DEFAULT 0,
    fingerprint bytea  NOT NULL,
    PRIMARY KEY (feed_id, identity, link_trait, title_trait, fingerprint)
);

-- The words of entries, as `domain::words` cuts them, with spaces around each, and their grams, without their places. A
-- search that the grams cannot answer looks at the words. `sort_at` never changes, and spares the search a join.
CREATE TABLE entry_words (
    entry_id bigint   PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
    sort_at  bigint   NOT NULL,
    grams    tsvector NOT NULL,
    words    text     COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05
);

CREATE INDEX entry_words_by_gram ON entry_words USING gin (grams);
