-- Connections of servers to this database: whoever copies it must be alone.
SELECT count(*)
FROM pg_stat_activity
WHERE datname = current_database()
  AND application_name = current_setting('application_name')
  AND pid <> pg_backend_pid()
