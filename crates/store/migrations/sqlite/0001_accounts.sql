-- Accounts, their logins, and what their programs come in with.
-- Times are milliseconds since 1970, UTC. Twin of postgres/0001_accounts.sql.

CREATE TABLE accounts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL,
    -- The name without regard to case: no two accounts have the same.
    name_key      TEXT    NOT NULL,
    -- Argon2id. NULL: nobody logs in with a password.
    password_hash TEXT,
    is_admin      INTEGER NOT NULL,
    -- Kept in the transactions that change it, so that nobody ever counts entries.
    starred_count INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    -- Gone for everybody; the row stays until all that it had is removed.
    deleted_at    INTEGER
);

CREATE UNIQUE INDEX accounts_by_name ON accounts (name_key) WHERE deleted_at IS NULL;
CREATE INDEX accounts_removed ON accounts (id) WHERE deleted_at IS NOT NULL;

-- The account of a new server. When it was made is set with the first start.
INSERT INTO accounts (name, name_key, is_admin, created_at) VALUES ('reader', 'reader', 1, 0);

-- Logins of browsers. The secret is in the browser alone.
CREATE TABLE sessions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL,
    secret_hash  BLOB    NOT NULL UNIQUE,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    address      TEXT,
    user_agent   TEXT
);

CREATE INDEX sessions_of_account ON sessions (account_id);
CREATE INDEX sessions_by_use ON sessions (last_used_at);

CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    -- read, write, admin
    scope        TEXT    NOT NULL,
    secret_hash  BLOB    NOT NULL UNIQUE,
    -- Of the key that Fever's clients send.
    fever_hash   BLOB    NOT NULL UNIQUE,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at   INTEGER
);

CREATE INDEX tokens_of_account ON tokens (account_id);
CREATE INDEX tokens_by_end ON tokens (expires_at) WHERE expires_at IS NOT NULL;
