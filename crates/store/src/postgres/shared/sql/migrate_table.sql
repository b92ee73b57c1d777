CREATE TABLE schema_migrations (
    version    bigint PRIMARY KEY,
    name       text   NOT NULL,
    applied_at bigint NOT NULL,
    -- Of its statements, by which another text of the same number is recognised.
    checksum   text   NOT NULL
)
