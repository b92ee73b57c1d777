-- Accounts, their logins, and what their programs come in with.
-- Times are milliseconds since 1970, UTC. Twin of sqlite/0001_accounts.sql.

-- The one clock of all nodes. Every time in every statement comes from here; tests replace it.
-- It is asked once in a statement, in a subquery: as part of a condition no index would serve it.
CREATE FUNCTION pirssonite_now_ms() RETURNS bigint
    LANGUAGE sql
    VOLATILE
    AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE accounts (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text    NOT NULL,
    -- The name without regard to case: no two accounts have the same.
    name_key      text    NOT NULL,
    -- Argon2id. NULL: nobody logs in with a password.
    password_hash text,
    is_admin      boolean NOT NULL,
    -- Kept in the transactions that change it, so that nobody ever counts entries.
    starred_count bigint  NOT NULL DEFAULT 0,
    created_at    bigint  NOT NULL,
    -- Gone for everybody; the row stays until all that it had is removed.
    deleted_at    bigint
);

CREATE UNIQUE INDEX accounts_by_name ON accounts (name_key) WHERE deleted_at IS NULL;
CREATE INDEX accounts_removed ON accounts (id) WHERE deleted_at IS NOT NULL;

-- The account of a new server. When it was made is set with the first start.
INSERT INTO accounts (name, name_key, is_admin, created_at) VALUES ('reader', 'reader', true, 0);

-- Logins of browsers. The secret is in the browser alone.
CREATE TABLE sessions (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id   bigint NOT NULL,
    secret_hash  bytea  NOT NULL UNIQUE,
    created_at   bigint NOT NULL,
    last_used_at bigint NOT NULL,
    address      text,
    user_agent   text
);

CREATE INDEX sessions_of_account ON sessions (account_id);
CREATE INDEX sessions_by_use ON sessions (last_used_at);

CREATE TABLE tokens (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id   bigint NOT NULL,
    name         text   NOT NULL,
    -- read, write, admin
    scope        text   NOT NULL,
    secret_hash  bytea  NOT NULL UNIQUE,
    -- Of the key that Fever's clients send.
    fever_hash   bytea  NOT NULL UNIQUE,
    created_at   bigint NOT NULL,
    last_used_at bigint,
    expires_at   bigint
);

CREATE INDEX tokens_of_account ON tokens (account_id);
CREATE INDEX tokens_by_end ON tokens (expires_at) WHERE expires_at IS NOT NULL;
