-- Folders, feeds, entries, and what is remembered of entries that were pruned.
-- Times are milliseconds since 1970, UTC. Twin of postgres/0001_feeds_and_entries.sql.

CREATE TABLE folders (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    name     TEXT    NOT NULL UNIQUE,
    position INTEGER NOT NULL
);

CREATE TABLE feeds (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    url                TEXT    NOT NULL,
    -- A hash, because PostgreSQL indexes no value as long as a URL may be.
    url_hash           BLOB    NOT NULL UNIQUE,
    credentials        TEXT,
    site_url           TEXT,
    title              TEXT,
    custom_title       TEXT,
    folder_id          INTEGER REFERENCES folders (id) ON DELETE SET NULL,
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
    is_gone            INTEGER NOT NULL DEFAULT 0,
    -- Kept in the transactions that change them, so that nobody ever counts entries.
    unread_count       INTEGER NOT NULL DEFAULT 0,
    entry_count        INTEGER NOT NULL DEFAULT 0,
    -- The lease of whoever polls it. The fence rises with every claim and is never reset.
    lease_owner        TEXT,
    lease_until        INTEGER NOT NULL DEFAULT 0,
    lease_fence        INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL
);

-- Finding due feeds walks this from its start and stops at the first that is not due.
CREATE INDEX feeds_due ON feeds (next_check_at, id) WHERE is_gone = 0;
CREATE INDEX feeds_by_folder ON feeds (folder_id);

CREATE TABLE entries (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    feed_id      INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    -- The feed's folder, kept here too so that a page of a folder is one walk of an index.
    folder_id    INTEGER,
    -- Hashes of what it is known by, of what tells it from others of that identity, and of what a reader sees of it.
    identity     BLOB    NOT NULL,
    link_trait   INTEGER NOT NULL DEFAULT 0,
    title_trait  INTEGER NOT NULL DEFAULT 0,
    fingerprint  BLOB    NOT NULL,
    guid         TEXT    NOT NULL,
    url          TEXT,
    title        TEXT,
    author       TEXT,
    published_at INTEGER,
    updated_at   INTEGER,
    sort_at      INTEGER NOT NULL,
    received_at  INTEGER NOT NULL,
    -- When its content was last written: a poll that was claimed before that does not undo it.
    changed_at   INTEGER NOT NULL,
    is_read      INTEGER NOT NULL DEFAULT 0,
    is_starred   INTEGER NOT NULL DEFAULT 0,
    categories   TEXT    NOT NULL DEFAULT '[]',
    enclosures   TEXT    NOT NULL DEFAULT '[]'
);

-- Several entries may have one identity: which is which, is decided by domain::ingest::recognise.
CREATE INDEX entries_by_identity ON entries (feed_id, identity);
-- One walk for each kind of page, newest first.
CREATE INDEX entries_newest ON entries (sort_at DESC, id DESC);
CREATE INDEX entries_of_feed ON entries (feed_id, sort_at DESC, id DESC);
CREATE INDEX entries_of_folder ON entries (folder_id, sort_at DESC, id DESC);
CREATE INDEX entries_unread ON entries (sort_at DESC, id DESC) WHERE is_read = 0;
CREATE INDEX entries_unread_of_feed ON entries (feed_id, sort_at DESC, id DESC) WHERE is_read = 0;
CREATE INDEX entries_unread_of_folder ON entries (folder_id, sort_at DESC, id DESC) WHERE is_read = 0;
CREATE INDEX entries_starred ON entries (sort_at DESC, id DESC) WHERE is_starred = 1;
-- What may be pruned, oldest first, and of one feed. Differs from PostgreSQL, which has only the first: there every
-- index is written again at every change of a row.
CREATE INDEX entries_prunable ON entries (received_at) WHERE is_read = 1 AND is_starred = 0;
CREATE INDEX entries_prunable_of_feed ON entries (feed_id, sort_at DESC, id DESC) WHERE is_read = 1 AND is_starred = 0;

-- The long texts, apart, so that marking an entry as read does not write them again.
CREATE TABLE entry_bodies (
    entry_id INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
    summary  TEXT,
    content  TEXT
);

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
    entry_id INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
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
