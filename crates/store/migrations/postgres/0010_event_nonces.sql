-- What makes the id of an event its own for good. Twin of sqlite/0010_event_nonces.sql.
--
-- Numbers are given out again by a database that has forgotten some: one that was restored, or a standby that lagged
-- behind when it took over. Chance is not. Events that were there before keep the ids that their receivers know.
CREATE FUNCTION pirssonite_nonce() RETURNS bigint
    LANGUAGE sql
    VOLATILE
    AS $$ SELECT ('x' || right(gen_random_uuid()::text, 12))::bit(48)::bigint $$;

ALTER TABLE events ADD COLUMN nonce bigint NOT NULL DEFAULT 0;
ALTER TABLE events ALTER COLUMN nonce SET DEFAULT pirssonite_nonce();
