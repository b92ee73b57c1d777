-- What a login gives an app is the same each time, until somebody ends it. Twin of sqlite/0013_app_sessions.sql.

-- How often one of the account was ended: what is given from then on is another.
ALTER TABLE accounts ADD COLUMN app_sessions_ended bigint NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN is_app boolean NOT NULL DEFAULT false;
