CREATE TABLE IF NOT EXISTS schema_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    applied_at INTEGER NOT NULL,
    -- Of its statements, by which another text of the same number is recognised.
    checksum   TEXT    NOT NULL
)
