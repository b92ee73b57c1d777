-- Folders, feeds and who follows them, entries and what accounts have of them, and what is remembered of entries that were
-- pruned. Twin of postgres/0002_feeds_and_entries.sql.

CREATE TABLE folders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    position   INTEGER NOT NULL,
    UNIQUE (account_id, name)
);

-- Once for all who follow it: what is fetched, when, and how it stands.
CREATE TABLE feeds (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    url                TEXT    NOT NULL,
    -- A hash, because PostgreSQL indexes no value as long as a URL may be. That of a feed with a user and password holds
    -- its account as well: it is never shared.
    url_hash           BLOB    NOT NULL UNIQUE,
    credentials        TEXT,
    site_url           TEXT,
    title              TEXT,
    -- The most that any follower wants: kept with the follows.
    push_enabled       INTEGER NOT NULL DEFAULT 1,
    poll_interval_secs INTEGER,
    -- What the next poll asks with. Written together with the entries it belongs to.
    etag               TEXT,
    last_modified      TEXT,
    body_hash          BLOB,
    last_fetched_at    INTEGER,
    next_check_at      INTEGER NOT NULL,
    adaptive_secs      INTEGER NOT NULL,
    -- What its last document asked of those who poll it.
    ttl_mins           INTEGER,
    skip_hours         INTEGER NOT NULL DEFAULT 0,
    skip_days          INTEGER NOT NULL DEFAULT 0,
    failure_count      INTEGER NOT NULL DEFAULT 0,
    last_error         TEXT,
    -- Failed three times in a row, and not fetched since: whoever was told of that is told when it is over.
    is_failing         INTEGER NOT NULL DEFAULT 0,
    is_gone            INTEGER NOT NULL DEFAULT 0,
    -- Kept in the transactions that change it, so that nobody ever counts entries.
    entry_count        INTEGER NOT NULL DEFAULT 0,
    -- What its last document said: the hubs as a JSON array, and the topic if it names one.
    hubs               TEXT    NOT NULL DEFAULT '[]',
    topic_url          TEXT,
    -- A hub is trusted to push it: it is polled only to check on that.
    is_pushed          INTEGER NOT NULL DEFAULT 0,
    -- When somebody wanted it to be polled soon, since it was last claimed: the poll that is under way then does not put
    -- it off. 0 if nobody did.
    poll_wanted_at     INTEGER NOT NULL DEFAULT 0,
    -- The lease of whoever polls it. The fence rises with every claim and is never reset.
    lease_owner        TEXT,
    lease_until        INTEGER NOT NULL DEFAULT 0,
    lease_fence        INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL
);

-- Finding due feeds walks this from its start and stops at the first that is not due.
CREATE INDEX feeds_due ON feeds (next_check_at, id) WHERE is_gone = 0;
-- What is counted for `/metrics`, without walking the table.
CREATE INDEX feeds_failing ON feeds (failure_count, is_gone) WHERE failure_count > 0 AND is_gone = 0;
CREATE INDEX feeds_pushed ON feeds (is_pushed) WHERE is_pushed = 1;
CREATE INDEX feeds_gone ON feeds (is_gone) WHERE is_gone = 1;

-- Which identities the last document of a feed held, 16 bytes each: whoever begins to follow it has those unread.
CREATE TABLE last_documents (
    feed_id    INTEGER PRIMARY KEY REFERENCES feeds (id) ON DELETE CASCADE,
    identities BLOB    NOT NULL,
    stored_at  INTEGER NOT NULL
);

-- Who follows a feed, and how. A feed's followers stand side by side: what is new is handed to all in one walk.
CREATE TABLE follows (
    feed_id            INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    account_id         INTEGER NOT NULL,
    folder_id          INTEGER REFERENCES folders (id) ON DELETE SET NULL,
    custom_title       TEXT,
    poll_interval_secs INTEGER,
    push_enabled       INTEGER NOT NULL DEFAULT 1,
    -- Kept in the transactions that change it, so that nobody ever counts entries.
    unread_count       INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL,
    PRIMARY KEY (feed_id, account_id)
) WITHOUT ROWID;

CREATE INDEX follows_of_account ON follows (account_id, feed_id);
CREATE INDEX follows_of_folder ON follows (folder_id) WHERE folder_id IS NOT NULL;

-- Once for all who follow the feed: what an entry says. There are no foreign keys from here to the feed, nor to here from
-- texts, words and what accounts have: each would look up what it points to for each row that is stored. All of these are
-- written in the transaction that looks at their feed; they go with their entry, and it with its feed, by triggers.
CREATE TABLE entries (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    feed_id        INTEGER NOT NULL,
    -- Hashes of what it is known by, of what tells it from others of that identity, and of what a reader sees of it.
    identity       BLOB    NOT NULL,
    link_trait     INTEGER NOT NULL DEFAULT 0,
    title_trait    INTEGER NOT NULL DEFAULT 0,
    fingerprint    BLOB    NOT NULL,
    guid           TEXT    NOT NULL,
    url            TEXT,
    title          TEXT,
    author         TEXT,
    published_at   INTEGER,
    updated_at     INTEGER,
    sort_at        INTEGER NOT NULL,
    received_at    INTEGER NOT NULL,
    -- When its content was last written: a poll that was claimed before that does not undo it.
    changed_at     INTEGER NOT NULL,
    -- When somebody was last told that it has changed.
    update_sent_at INTEGER NOT NULL DEFAULT 0,
    -- Pushed with neither summary nor content.
    is_thin        INTEGER NOT NULL DEFAULT 0,
    categories     TEXT    NOT NULL DEFAULT '[]',
    enclosures     TEXT    NOT NULL DEFAULT '[]'
);

-- Several entries may have one identity: which is which, is decided by domain::ingest::recognise.
CREATE INDEX entries_by_identity ON entries (feed_id, identity);
CREATE INDEX entries_of_feed ON entries (feed_id, sort_at DESC, id DESC);

-- The long texts, apart, so that they are read only where they are wanted.
CREATE TABLE entry_bodies (
    entry_id INTEGER PRIMARY KEY,
    summary  TEXT,
    content  TEXT
);

-- What an account has of an entry: a row for each follower, written with the entry. All that a page is chosen and ordered
-- by is here, so that every kind of page is one walk of an index of its account's.
CREATE TABLE entry_states (
    entry_id    INTEGER NOT NULL,
    account_id  INTEGER NOT NULL,
    feed_id     INTEGER NOT NULL,
    -- Where the account keeps the feed.
    folder_id   INTEGER,
    sort_at     INTEGER NOT NULL,
    -- When the account got it: with the entry, or when it began to follow the feed.
    received_at INTEGER NOT NULL,
    -- When anything that it sees of it last changed: what it says, or whether it is read or starred.
    modified_at INTEGER NOT NULL,
    is_read     INTEGER NOT NULL DEFAULT 0,
    is_starred  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (entry_id, account_id)
) WITHOUT ROWID;

-- One walk for each kind of page, newest first. A page of a feed walks `entries_of_feed`.
CREATE INDEX states_newest ON entry_states (account_id, sort_at DESC, entry_id DESC);
CREATE INDEX states_of_folder ON entry_states (account_id, folder_id, sort_at DESC, entry_id DESC) WHERE folder_id IS NOT NULL;
CREATE INDEX states_unread ON entry_states (account_id, sort_at DESC, entry_id DESC) WHERE is_read = 0;
CREATE INDEX states_unread_of_feed ON entry_states (account_id, feed_id, sort_at DESC, entry_id DESC) WHERE is_read = 0;
CREATE INDEX states_unread_of_folder ON entry_states (account_id, folder_id, sort_at DESC, entry_id DESC)
    WHERE is_read = 0 AND folder_id IS NOT NULL;
CREATE INDEX states_starred ON entry_states (account_id, sort_at DESC, entry_id DESC) WHERE is_starred = 1;
-- One walk for each, either way round.
CREATE INDEX states_received ON entry_states (account_id, received_at, entry_id);
CREATE INDEX states_modified ON entry_states (account_id, modified_at, entry_id);
-- What may be pruned, oldest first: unread ones and read ones each have their own age; and of one feed.
CREATE INDEX states_prunable ON entry_states (is_read, received_at) WHERE is_starred = 0;
CREATE INDEX states_prunable_of_feed ON entry_states (feed_id, sort_at DESC, entry_id DESC)
    WHERE is_read = 1 AND is_starred = 0;

-- What pruned entries are recognised by, until a complete poll no longer holds them.
CREATE TABLE pruned_entries (
    feed_id     INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    identity    BLOB    NOT NULL,
    link_trait  INTEGER NOT NULL DEFAULT 0,
    title_trait INTEGER NOT NULL DEFAULT 0,
    fingerprint BLOB    NOT NULL,
    PRIMARY KEY (feed_id, identity, link_trait, title_trait, fingerprint)
) WITHOUT ROWID;

-- The words of entries, as `domain::words` cuts them, with spaces around each. A search that the index of grams cannot
-- answer looks here.
CREATE TABLE entry_words (
    entry_id INTEGER PRIMARY KEY,
    words    TEXT    NOT NULL
);

-- The grams of those words, by entry id, without their places. It holds no text of its own. What a gram is, is decided
-- before they get here: they come in lower case with spaces between them, and only at those are they split.
CREATE VIRTUAL TABLE entry_grams USING fts5 (
    grams,
    content = '',
    contentless_delete = 1,
    detail = 'none',
    tokenize = 'ascii'
);
-- Bytes of grams that are gathered before they are written: those of a whole transaction, as a rule. The table they are
-- gathered in never shrinks, and every commit walks all of it: with 4 MiB that was a tenth of the cost of a push.
INSERT INTO entry_grams (entry_grams, rank) VALUES ('hashsize', 524288);

CREATE TRIGGER entries_remove_rows AFTER DELETE ON entries
BEGIN
    DELETE FROM entry_states WHERE entry_id = old.id;
    DELETE FROM entry_bodies WHERE entry_id = old.id;
    DELETE FROM entry_words WHERE entry_id = old.id;
END;

CREATE TRIGGER feeds_remove_entries AFTER DELETE ON feeds
BEGIN
    DELETE FROM entries WHERE feed_id = old.id;
END;
