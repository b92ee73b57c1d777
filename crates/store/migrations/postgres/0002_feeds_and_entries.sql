-- Folders, feeds and who follows them, entries and what accounts have of them, and what is remembered of entries that were
-- pruned. Twin of sqlite/0002_feeds_and_entries.sql.
--
-- Whoever changes the entries of a feed holds the lock of the feed's row: so counts are exact, and since rows of feeds
-- are locked in the order of their ids, nobody deadlocks. Rows are locked in this order: feeds, follows (by feed and
-- account), states (by entry and account), accounts.

CREATE TABLE folders (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id bigint NOT NULL,
    name       text   NOT NULL,
    position   bigint NOT NULL,
    UNIQUE (account_id, name)
);

-- Rows are rewritten at every claim and every beat: free space on the page, and no index on the lease, keep that within the
-- page.
-- Once for all who follow it: what is fetched, when, and how it stands.
CREATE TABLE feeds (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url                text    NOT NULL,
    -- A hash, because PostgreSQL indexes no value as long as a URL may be. That of a feed with a user and password holds
    -- its account as well: it is never shared.
    url_hash           bytea   NOT NULL UNIQUE,
    credentials        text,
    site_url           text,
    title              text,
    -- The most that any follower wants: kept with the follows.
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
    skip_hours         bigint  NOT NULL DEFAULT 0,
    skip_days          bigint  NOT NULL DEFAULT 0,
    failure_count      bigint  NOT NULL DEFAULT 0,
    last_error         text,
    -- Failed three times in a row, and not fetched since: whoever was told of that is told when it is over.
    is_failing         boolean NOT NULL DEFAULT false,
    is_gone            boolean NOT NULL DEFAULT false,
    -- Kept in the transactions that change it, so that nobody ever counts entries.
    entry_count        bigint  NOT NULL DEFAULT 0,
    -- What its last document said: the hubs as a JSON array, and the topic if it names one.
    hubs               text    NOT NULL DEFAULT '[]',
    topic_url          text,
    -- A hub is trusted to push it: it is polled only to check on that.
    is_pushed          boolean NOT NULL DEFAULT false,
    -- When somebody wanted it to be polled soon, since it was last claimed: the poll that is under way then does not put
    -- it off. 0 if nobody did.
    poll_wanted_at     bigint  NOT NULL DEFAULT 0,
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
-- What is counted for `/metrics`, without walking the table.
CREATE INDEX feeds_failing ON feeds (failure_count, is_gone) WHERE failure_count > 0 AND NOT is_gone;
CREATE INDEX feeds_pushed ON feeds (is_pushed) WHERE is_pushed;
CREATE INDEX feeds_gone ON feeds (is_gone) WHERE is_gone;

-- Which identities the last document of a feed held, 16 bytes each: whoever begins to follow it has those unread.
CREATE TABLE last_documents (
    feed_id    bigint PRIMARY KEY REFERENCES feeds (id) ON DELETE CASCADE,
    identities bytea  NOT NULL,
    stored_at  bigint NOT NULL
);

-- Who follows a feed, and how. A feed's followers stand side by side: what is new is handed to all in one walk.
CREATE TABLE follows (
    feed_id            bigint  NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    account_id         bigint  NOT NULL,
    folder_id          bigint  REFERENCES folders (id) ON DELETE SET NULL,
    custom_title       text,
    poll_interval_secs bigint,
    push_enabled       boolean NOT NULL DEFAULT true,
    -- Kept in the transactions that change it, so that nobody ever counts entries.
    unread_count       bigint  NOT NULL DEFAULT 0,
    created_at         bigint  NOT NULL,
    PRIMARY KEY (feed_id, account_id)
) WITH (
    -- The count changes with every entry: in its page, so that no index is touched.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 500,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX follows_of_account ON follows (account_id, feed_id);
CREATE INDEX follows_of_folder ON follows (folder_id) WHERE folder_id IS NOT NULL;

-- Once for all who follow the feed: what an entry says. There are no foreign keys from here to the feed, nor to here from
-- texts, words and what accounts have: each would look up and lock what it points to for each row that is stored, together
-- half of what storing an entry costs. All of these are written under the lock of their feed's row; they go with their
-- entry, and it with its feed, by triggers.
CREATE TABLE entries (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    feed_id        bigint  NOT NULL,
    -- Hashes of what it is known by, of what tells it from others of that identity, and of what a reader sees of it.
    identity       bytea   NOT NULL,
    link_trait     bigint  NOT NULL DEFAULT 0,
    title_trait    bigint  NOT NULL DEFAULT 0,
    fingerprint    bytea   NOT NULL,
    guid           text    NOT NULL,
    url            text,
    title          text,
    author         text,
    published_at   bigint,
    updated_at     bigint,
    sort_at        bigint  NOT NULL,
    received_at    bigint  NOT NULL,
    -- When its content was last written: a poll that was claimed before that does not undo it.
    changed_at     bigint  NOT NULL,
    -- When somebody was last told that it has changed.
    update_sent_at bigint  NOT NULL DEFAULT 0,
    -- Pushed with neither summary nor content.
    is_thin        boolean NOT NULL DEFAULT false,
    categories     text    NOT NULL DEFAULT '[]',
    enclosures     text    NOT NULL DEFAULT '[]'
) WITH (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05
);

-- Several entries may have one identity: which is which, is decided by domain::ingest::recognise.
CREATE INDEX entries_by_identity ON entries (feed_id, identity);
CREATE INDEX entries_of_feed ON entries (feed_id, sort_at DESC, id DESC);

-- The long texts, apart, so that they are read only where they are wanted.
CREATE TABLE entry_bodies (
    entry_id bigint PRIMARY KEY,
    summary  text,
    content  text
);

-- What an account has of an entry: a row for each follower, written with the entry. All that a page is chosen and ordered
-- by is here, so that every kind of page is one walk of an index of its account's.
CREATE TABLE entry_states (
    entry_id    bigint  NOT NULL,
    account_id  bigint  NOT NULL,
    feed_id     bigint  NOT NULL,
    -- Where the account keeps the feed.
    folder_id   bigint,
    sort_at     bigint  NOT NULL,
    -- When the account got it: with the entry, or when it began to follow the feed.
    received_at bigint  NOT NULL,
    -- When anything that it sees of it last changed: what it says, or whether it is read or starred.
    modified_at bigint  NOT NULL,
    is_read     boolean NOT NULL DEFAULT false,
    is_starred  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (entry_id, account_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05
);

-- One walk for each kind of page, newest first. A page of a feed walks `entries_of_feed`.
CREATE INDEX states_newest ON entry_states (account_id, sort_at DESC, entry_id DESC);
CREATE INDEX states_of_folder ON entry_states (account_id, folder_id, sort_at DESC, entry_id DESC) WHERE folder_id IS NOT NULL;
CREATE INDEX states_unread ON entry_states (account_id, sort_at DESC, entry_id DESC) WHERE NOT is_read;
CREATE INDEX states_unread_of_feed ON entry_states (account_id, feed_id, sort_at DESC, entry_id DESC) WHERE NOT is_read;
CREATE INDEX states_unread_of_folder ON entry_states (account_id, folder_id, sort_at DESC, entry_id DESC)
    WHERE NOT is_read AND folder_id IS NOT NULL;
CREATE INDEX states_starred ON entry_states (account_id, sort_at DESC, entry_id DESC) WHERE is_starred;
-- One walk for each, either way round.
CREATE INDEX states_received ON entry_states (account_id, received_at, entry_id);
CREATE INDEX states_modified ON entry_states (account_id, modified_at, entry_id);
-- What may be pruned, oldest first: unread ones and read ones each have their own age; and of one feed.
CREATE INDEX states_prunable ON entry_states (is_read, received_at) WHERE NOT is_starred;
CREATE INDEX states_prunable_of_feed ON entry_states (feed_id, sort_at DESC, entry_id DESC)
    WHERE is_read AND NOT is_starred;

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
    entry_id bigint   PRIMARY KEY,
    sort_at  bigint   NOT NULL,
    grams    tsvector NOT NULL,
    words    text     COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05
);

CREATE INDEX entry_words_by_gram ON entry_words USING gin (grams);

-- Planned once for a connection, however few or many are removed then: each by its id.
CREATE FUNCTION pirssonite_remove_rows_of_entries() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    DELETE FROM entry_states USING removed WHERE entry_states.entry_id = removed.id;
    DELETE FROM entry_bodies USING removed WHERE entry_bodies.entry_id = removed.id;
    DELETE FROM entry_words USING removed WHERE entry_words.entry_id = removed.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER entries_remove_rows
AFTER DELETE ON entries
REFERENCING OLD TABLE AS removed
FOR EACH STATEMENT EXECUTE FUNCTION pirssonite_remove_rows_of_entries();

CREATE FUNCTION pirssonite_remove_entries_of_feeds() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    DELETE FROM entries USING removed WHERE entries.feed_id = removed.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER feeds_remove_entries
AFTER DELETE ON feeds
REFERENCING OLD TABLE AS removed
FOR EACH STATEMENT EXECUTE FUNCTION pirssonite_remove_entries_of_feeds();
