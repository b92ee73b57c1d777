CREATE TABLE schema_migrations (
    version    bigint PRIMARY KEY,
    name       text   NOT NULL,
    applied_at bigint NOT NULL
)
